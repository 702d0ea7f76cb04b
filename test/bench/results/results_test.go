package results

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func run(begin int64, cells ...Cell) Run {
	return Run{Begin: time.Unix(begin, 0).UTC(), Kubernetes: "v1.37.1", Nodes: 160, Cores: 2, Cells: cells}
}

func took(row, maker string, seconds ...float64) Cell {
	cell := Cell{Row: row, Title: row + " title", Maker: maker}
	for _, s := range seconds {
		cell.Rounds = append(cell.Rounds, Figures{Seconds: s, Cost: Cost{Requests: int(s)}})
	}
	return cell
}

func TestATimeIsComparedWithPodsByHandOfTheSameRun(t *testing.T) {
	file := File{Runs: []Run{
		run(1, took("large", Limit, 2), took("large", "JobSet", 8)),
		run(2, took("large", Limit, 4), took("large", "TrainingJob", 6)),
		run(3, took("large", "JobSet"+AsShipped, 99)),
	}}
	c := file.Compare()
	for maker, want := range map[string]float64{"JobSet": 4, "TrainingJob": 1.5, Limit: 1} {
		if got := c.Of("large", maker).Times; got != want {
			t.Errorf("%s takes %v times the limit's time, want %v", maker, got, want)
		}
	}
	if c.Of("small", "JobSet") != nil {
		t.Error("nothing was measured, so there is nothing to compare")
	}
}

func TestTheNewestRunCounts(t *testing.T) {
	file := File{Runs: []Run{
		run(1, took("large", Limit, 2), took("large", "JobSet", 8)),
		run(2, took("large", Limit, 2), took("large", "JobSet", 5)),
	}}
	if got := file.Compare().Of("large", "JobSet").Times; got != 2.5 {
		t.Errorf("the old run counts: %v", got)
	}
	if text := file.Markdown(); strings.Contains(text, "00:00:01") || !strings.Contains(text, "00:00:02") {
		t.Errorf("only the run of 00:00:02 is to be named:\n%s", text)
	}
}

func TestTimeAndCostAreOfTheMedianRound(t *testing.T) {
	file := File{Runs: []Run{run(1, took("large", "JobSet", 30, 10, 20))}}
	if got := file.Compare().Of("large", "JobSet").Figures; got.Seconds != 20 || got.Cost.Requests != 20 {
		t.Errorf("got %+v", got)
	}
}

func TestSeveralRoundsShowTheirRangeAndNumber(t *testing.T) {
	broken := took("large", "TFJob", 9, 7)
	broken.Cannot = "failed: no answer"
	once := took("large", "Volcano Job", 8)
	once.Cannot = TooSlow(10 * time.Minute)
	file := File{Runs: []Run{run(1, took("large", Limit, 2, 2, 2), took("large", "JobSet", 30, 10, 20), took("large", "TrainJob", 5), broken, once)}}
	text := file.Markdown()
	for _, want := range []string{
		"| JobSet | 20.0 s (10.0 to 30.0 in 3), 10.00 |\n",
		"| TrainJob | 5.0 s, 2.50 |\n",
		"| TFJob | 7.0 s (7.0 to 9.0 in 2), 3.50 |\n",
		"* TFJob, large title, a round without a time: failed: no answer.\n",
		"| Volcano Job | 8.0 s, 4.00, or not within 10 min |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestAPeerIsAheadOnlyOutsideTheRangesOfOneRun(t *testing.T) {
	broken := took("large", "broken", 1, 1, 1)
	broken.Cannot = "failed: no answer"
	file := File{Runs: []Run{
		run(1, took("large", "other run", 1, 1, 1), took("large", "TrainingJob", 99), took("small", "TrainingJob", 9), took("small", "quick once", 1)),
		run(2, took("large", "TrainingJob", 12, 10, 11), took("large", Limit, 1, 1, 1), took("large", "TrainingJob, all pods new", 20, 21, 22),
			took("large", "PyTorchJob, served", 1, 1, 1), broken, took("large", "two rounds", 1, 2),
			took("large", "ahead", 9.9, 8, 7), took("large", "touches", 10, 8, 7), took("large", "within", 11, 11, 11),
			took("large", "reaches in", 11.9, 30, 31), took("large", "behind", 12.1, 30, 13)),
	}}
	want := `| time | ahead of it | behind it | open |
|---|---|---|---|
| TrainingJob, large title | ahead | behind | other run, broken, two rounds, touches, within, reaches in |
| TrainingJob, all pods new, large title | ahead, touches, within | - | other run, broken, two rounds, reaches in, behind |
| TrainingJob, small title | - | - | all |
`
	if got := file.Markdown(); !strings.Contains(got, want) {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
}

func TestARunOfSomeRowsKeepsTheOthersWithTheirMachineAndLoad(t *testing.T) {
	older := run(1, took("large", Limit, 2), took("large", "JobSet", 8), took("small", "JobSet", 7))
	older.LoadBefore, older.LoadAfter = 5, 6
	newer := run(2, took("large", Limit, 3, 3, 3), took("large", "JobSet", 9, 9, 9))
	newer.Machine, newer.LoadBefore, newer.LoadAfter = "Model 9, 16 GiB", 0.5, 2
	newest := run(3, took("large", Limit, 4))
	path := filepath.Join(t.TempDir(), "results.json")
	for _, r := range []Run{older, newer, newest} {
		if err := Add(path, r); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `* Run of 1970-01-01 00:00:01: Kubernetes 1.37.1, 160 fake nodes, 2 cores, load 5.0 before and 6.0 after: small title.
* Run of 1970-01-01 00:00:02: Kubernetes 1.37.1, 160 fake nodes, 2 cores (Model 9, 16 GiB), load 0.5 before and 2.0 after: large title (JobSet).
* Run of 1970-01-01 00:00:03: Kubernetes 1.37.1, 160 fake nodes, 2 cores, load 0.0 before and 0.0 after: large title (pods by hand).
`
	got := file.Markdown()
	if !strings.Contains(got, want) {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
	if row := "| JobSet | 9.0 s (9.0 to 9.0 in 3), 3.00 | 7.0 s |\n"; !strings.Contains(got, row) {
		t.Errorf("want %q in\n%s", row, got)
	}
}

func TestARunIsAddedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	older, newer := run(1, took("large", "JobSet", 1)), run(2)
	for _, r := range []Run{older, newer} {
		if err := Add(path, r); err != nil {
			t.Fatal(err)
		}
	}
	newer.Record(Cell{Row: "large", Maker: "JobSet"}, Figures{Seconds: 3})
	newer.Record(Cell{Row: "large", Maker: "JobSet"}, Figures{Seconds: 4})
	newer.Record(Cell{Row: "restart", Maker: "JobSet", Cannot: "has no such policy"}, Figures{})
	if err := Add(path, newer); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	newer.Cells = []Cell{
		{Row: "large", Maker: "JobSet", Rounds: []Figures{{Seconds: 3}, {Seconds: 4}}},
		{Row: "restart", Maker: "JobSet", Cannot: "has no such policy"},
	}
	if diff := cmp.Diff(File{Runs: []Run{older, newer}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestResultsThatCannotBeReadAreNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Add(path, run(1)); err == nil {
		t.Error("want an error")
	}
}

func TestTheTablesSayWhatCannotBeAndWhatWasNotRun(t *testing.T) {
	restart := Cell{Row: "restart", Title: "whole restart", Maker: "PyTorchJob", Version: "v1.9.3", Cannot: "makes the failed pod again"}
	slow := Cell{Row: "restart", Title: "whole restart", Maker: "JobSet", Cannot: TooSlow(10 * time.Minute)}
	file := File{Runs: []Run{run(1, took("large", Limit, 2), took("large", "PyTorchJob", 3), took("restart", Limit, 2), restart,
		took("large", "JobSet", 0.5), slow)}}
	want := `| | large title | whole restart |
|---|---|---|
| pods by hand | 2.0 s, 1.00 | 2.0 s, 1.00 |
| PyTorchJob 1.9.3 | 3.0 s, 1.50 | cannot |
| JobSet | 0.50 s, 0.25 | not within 10 min |

* PyTorchJob, whole restart: makes the failed pod again.
`
	got := file.Markdown()
	if !strings.Contains(got, want) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
	if missing := "* Rows without a measurement: small, huge, replace, node, rest.\n"; !strings.Contains(got, missing) {
		t.Errorf("want\n%s\ngot\n%s", missing, got)
	}
}

func TestOnlySomeRowsHaveATableOfCosts(t *testing.T) {
	costly := func(row string) Cell {
		return Cell{Row: row, Title: row + " title", Maker: "JobSet", Rounds: []Figures{{Seconds: 1, Cost: Cost{Requests: 7, PeakMB: 1}}}}
	}
	file := File{Runs: []Run{run(1, costly("large"), costly("huge"), costly("rest"))}}
	text := file.Markdown()
	for table, want := range map[string]int{"large": 1, "huge": 0, "rest": 1} {
		if got := strings.Count(text, "| "+table+" title | requests |"); got != want {
			t.Errorf("%d tables of what %q costs, want %d:\n%s", got, table, want, text)
		}
	}
}

func TestThePictureIsXMLWithABarForEachMakerButTheLimit(t *testing.T) {
	file := File{Runs: []Run{run(1, took("large", Limit, 2), took("large", "TrainingJob", 3), took("large", "A & B", 400),
		took("large", "A & B"+AsShipped, 6))}}
	svg, err := file.Compare().Picture()
	if err != nil {
		t.Fatal(err)
	}
	lengths := map[string]bool{}
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			for _, a := range start.Attr {
				if a.Name.Local == "width" {
					lengths[a.Value] = true
				}
			}
		}
	}
	// 1.5 of 8 times in 470 pixels; 200 times is cut off; the third is the ground.
	if want := map[string]bool{"88": true, "470": true, "880": true}; !cmp.Equal(want, lengths) {
		t.Errorf("bars are %v long, want %v", lengths, want)
	}
}
