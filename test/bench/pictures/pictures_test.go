//go:build pictures

package pictures

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/bench/stories"
	"github.com/trainingjob/operator/test/sim/builder"
)

//go:embed measure.js
var measure string

// measured is what measure.js says of a page.
type measured struct {
	Scroll, Inner               float64
	Dark                        bool
	Page                        string
	Attempts, Marks, Rows, Jobs int
	Fills                       map[string]string
	Chart, Heads                float64
	Texts                       []struct {
		Text                               string
		Width, Left, Right, Size, Contrast float64
		Scrolls                            bool
	}
}

// view is one page and what is to be seen on it.
type view struct {
	name                  string
	page                  func(t *testing.T) string
	attempts, marks, jobs int
	leastRows, mostRows   int
	states                []string
	words                 []string
	tall                  int
}

func views() []view {
	return []view{
		{name: "report-1", page: reportOf(stories.One), attempts: 2, leastRows: 1, mostRows: 1, states: []string{"running", "starting"},
			words: []string{"mnist", "Attempts", "Replicas", "Lost time", "worker-0", "Succeeded"}, tall: 1250},
		{name: "report-8", page: reportOf(func() (*story.View, []journal.Line) { return stories.Many(8) }), attempts: 11, marks: 3, leastRows: 8, mostRows: 8,
			states: []string{"running", "starting", "restarting", "failed"}, words: []string{"llama-7b", "Incidents", "OOMKilled", "Avoided nodes", "gpu-12"}, tall: 1880},
		{name: "report-64", page: reportOf(func() (*story.View, []journal.Line) { return stories.Many(64) }), attempts: 11, marks: 3, leastRows: 8, mostRows: 16,
			states: []string{"running", "starting", "restarting", "failed"}, words: []string{"64/64", "worker-0", "worker-1"}, tall: 2220},
		{name: "report-10000", page: reportOf(func() (*story.View, []journal.Line) { return stories.Many(10000) }), attempts: 11, marks: 3, leastRows: 8, mostRows: 14,
			states: []string{"running", "starting", "restarting", "failed"}, words: []string{"10000/10000", "worker-0", "A row stands for several"}, tall: 2220},
		{name: "ui", page: list, jobs: 4, states: []string{"running", "starting", "restarting", "unknown"}, words: []string{"llama-7b", "Failed", "TrainingJobs"}, tall: 640},
	}
}

func reportOf(tale func() (*story.View, []journal.Line)) func(*testing.T) string {
	return func(t *testing.T) string {
		v, lines := tale()
		r := report.Make(v, lines)
		r.Sources = []string{"the status", fmt.Sprintf("%d pods", len(v.Pods)), fmt.Sprintf("%d Events", len(v.Events)), fmt.Sprintf("%d lines of the operator's log", len(lines))}
		var page bytes.Buffer
		if err := r.HTML(&page, nil); err != nil {
			t.Fatal(err)
		}
		return page.String()
	}
}

// list is the page of all jobs, with one of each kind.
func list(t *testing.T) string {
	one, _ := stories.One()
	many, _ := stories.Many(64)
	waits := builder.Job("bert-large", builder.Workers(16), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Ready, s.Message = v1alpha1.PhaseQueued, "-", "The job waits to be admitted by queue team-a."
	}))
	failed := builder.Job("resnet", builder.Workers(4), builder.StartedAt(30*time.Minute), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Ready, s.RunningTime, s.CompletionTime = v1alpha1.PhaseFailed, "-", builder.TimePtr(31*time.Minute), builder.TimePtr(70*time.Minute)
		s.Message = "worker-2 on gpu-3 exited with code 127 (Error), which is permanent under restartPolicy OnFailure."
	}))
	var jobs []v1alpha1.TrainingJob
	for _, job := range []*v1alpha1.TrainingJob{waits, many.Job, one.Job, failed} {
		job.Namespace, job.CreationTimestamp = "vision", builder.Time(0)
		jobs = append(jobs, *job)
	}
	var page bytes.Buffer
	address := func(job *v1alpha1.TrainingJob) string { return "/job/" + job.Name }
	if err := report.List(&page, jobs, builder.Epoch.Add(108*time.Minute), address, nil); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// window is what a page is looked at through.
type window struct {
	dark          bool
	width, height int
}

// browse runs the browser on a file and returns what it prints.
func browse(t *testing.T, file string, in window, more ...string) string {
	t.Helper()
	scheme := "preferredColorScheme=1"
	if in.dark {
		scheme = "preferredColorScheme=0"
	}
	command := exec.CommandContext(t.Context(), os.Getenv("CHROMIUM"), append([]string{
		"--disable-gpu", "--hide-scrollbars", "--blink-settings=" + scheme, fmt.Sprintf("--window-size=%d,%d", in.width, in.height),
		"--user-data-dir=" + t.TempDir(),
	}, append(more, "file://"+file)...)...)
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	if failed := command.Run(); failed != nil {
		t.Fatalf("%v: %s", failed, err.String())
	}
	return out.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

var result = regexp.MustCompile(`(?s)<pre id="measured">(.*?)</pre>`)

// measuredIn returns what the page is like in the browser.
func measuredIn(t *testing.T, page string, dark bool, width int) measured {
	t.Helper()
	file := write(t, "page.html", strings.Replace(page, "</body>", "<script>"+measure+"</script></body>", 1))
	found := result.FindStringSubmatch(browse(t, file, window{dark, width, 900}, "--dump-dom"))
	if found == nil {
		t.Fatal("the browser says nothing of the page")
	}
	var m measured
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPages(t *testing.T) {
	if os.Getenv("CHROMIUM") == "" {
		t.Fatal("CHROMIUM does not say which browser to look with: run make test-pictures")
	}
	for _, v := range views() {
		page := v.page(t)
		for _, dark := range []bool{false, true} {
			for _, width := range []int{1280, 400} {
				name := fmt.Sprintf("%s-%s-%d", v.name, map[bool]string{true: "dark", false: "light"}[dark], width)
				t.Run(name, func(t *testing.T) {
					m := measuredIn(t, page, dark, width)
					m.check(t, &v, dark, width)
					m.checkTexts(t, &v, width)
					look(t, page, name, window{dark, width, v.tall})
				})
			}
		}
	}
}

// check holds the page against what is to be seen on it.
func (m *measured) check(t *testing.T, v *view, dark bool, width int) {
	if m.Inner != float64(width) || m.Scroll > m.Inner {
		t.Errorf("the page is %v wide in a window of %v", m.Scroll, m.Inner)
	}
	if m.Dark != dark || (m.Page == "rgb(255, 255, 255)") == dark {
		t.Errorf("dark %t, the page is %s, want dark %t", m.Dark, m.Page, dark)
	}
	if m.Attempts != v.attempts || m.Marks != v.marks || m.Jobs != v.jobs || m.Rows < v.leastRows || m.Rows > v.mostRows {
		t.Errorf("%d bars of attempts, %d marks, %d jobs, %d labels; want %d, %d, %d, %d to %d", m.Attempts, m.Marks, m.Jobs, m.Rows, v.attempts, v.marks, v.jobs, v.leastRows, v.mostRows)
	}
	if m.Chart < float64(width)/5 {
		t.Errorf("the picture is %v wide", m.Chart)
	}
	if m.Heads > 40 {
		t.Errorf("the head of a table is %v high: its words are broken", m.Heads)
	}
	colours := map[string]string{}
	for _, state := range v.states {
		fill := m.Fills["s-"+state]
		if other, taken := colours[fill]; fill == "" || fill == "rgb(0, 0, 0)" || taken {
			t.Errorf("state %s has the colour %q, as %q has", state, fill, other)
		}
		colours[fill] = state
	}
}

// checkTexts asks whether all that is written can be read.
func (m *measured) checkTexts(t *testing.T, v *view, width int) {
	var all strings.Builder
	for _, text := range m.Texts {
		all.WriteString(text.Text + "\n")
		if text.Contrast < 4.5 || text.Size < 11 || text.Width < 1 {
			t.Errorf("%q: contrast %.1f, %v px high, %v wide", text.Text, text.Contrast, text.Size, text.Width)
		}
		if !text.Scrolls && (text.Left < -0.5 || text.Right > float64(width)+0.5) {
			t.Errorf("%q goes from %v to %v of %d", text.Text, text.Left, text.Right, width)
		}
	}
	for _, word := range v.words {
		if !strings.Contains(all.String(), word) {
			t.Errorf("%q is not to be seen", word)
		}
	}
}

// look takes a picture of the page as it is, without a script, and asks whether the colour of running replicas is in it.
func look(t *testing.T, page, name string, in window) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		folder = t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, name+".png")
	browse(t, write(t, "page.html", page), in, "--screenshot="+file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	running := [3]uint32{0x16, 0x68, 0xb3}
	if in.dark {
		running = [3]uint32{0x3d, 0x8f, 0xe0}
	}
	seen := 0
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if r, g, b, _ := picture.At(x, y).RGBA(); [3]uint32{r >> 8, g >> 8, b >> 8} == running {
				seen++
			}
		}
	}
	if seen < in.width*5 || picture.Bounds().Dx() != in.width {
		t.Errorf("of the colour of running replicas there are %d points in a picture %d wide", seen, picture.Bounds().Dx())
	}
}

// The colours that stand for states differ in lightness for those who cannot tell hues apart: at least those that lie next to each
// other in a picture, as these do.
func TestNeighboursDifferWithoutHue(t *testing.T) {
	page := reportOf(func() (*story.View, []journal.Line) { return stories.Many(8) })(t)
	for _, dark := range []bool{false, true} {
		m := measuredIn(t, page, dark, 1280)
		for _, pair := range [][2]string{{"running", "restarting"}, {"running", "starting"}, {"failed", "restarting"}} {
			if a, b := lightness(t, m.Fills["s-"+pair[0]]), lightness(t, m.Fills["s-"+pair[1]]); max(a, b)/min(a, b) < 1.5 {
				t.Errorf("dark %t: %s and %s have contrast %.2f", dark, pair[0], pair[1], max(a, b)/min(a, b))
			}
		}
	}
}

// lightness returns the relative luminance of a colour, with what a screen reflects.
func lightness(t *testing.T, colour string) float64 {
	t.Helper()
	var r, g, b float64
	if _, err := fmt.Sscanf(colour, "rgb(%f, %f, %f)", &r, &g, &b); err != nil {
		t.Fatalf("%q is no colour: %v", colour, err)
	}
	linear := func(c float64) float64 { return c / 255 * c / 255 } // near enough to the curve of screens
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b) + 0.05
}
