package results

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strings"
	"text/template"
)

//go:embed picture.svg
var pictureText string

var picture = template.Must(template.New("picture").Parse(pictureText))

// The picture's measures, in pixels.
const (
	top, rowHeight, barHeight = 64, 30, 17
	left, widest              = 230, 470
	// longest is the longest bar, in times of pods by hand; what takes longer is cut off there.
	longest = 8.0
)

type drawing struct {
	Width, Height int
	Groups        []group
}

// group is the bars of one row.
type group struct {
	Title string
	Y     int
	Bars  []bar
}

type bar struct {
	Maker, Text, Color string
	Y, TextY, Length   int
	// TextX is where the text begins.
	TextX int
}

// Picture returns the times of the rows that have the limit as an SVG, with peers at their fastest settings.
func (c Comparison) Picture() ([]byte, error) {
	d := drawing{Width: 880}
	y := top
	for _, row := range c.Rows {
		g := group{Title: row.Title, Y: y + 14}
		for _, maker := range c.Makers {
			cell := c.Of(row.Name, maker.Name)
			if cell == nil || maker.Name == Limit || strings.HasSuffix(maker.Name, AsShipped) || !c.drawn(row) {
				continue
			}
			y += barHeight + 4
			g.Bars = append(g.Bars, cell.bar(y))
		}
		if len(g.Bars) > 0 {
			d.Groups = append(d.Groups, g)
			y += rowHeight
		}
	}
	d.Height = y + 20
	var svg bytes.Buffer
	if err := picture.Execute(&svg, d); err != nil {
		return nil, fmt.Errorf("drawing the picture: %w", err)
	}
	return svg.Bytes(), nil
}

// drawn reports whether the row was measured beside the limit, and takes long enough to be compared by eye.
func (c Comparison) drawn(row Row) bool {
	limit := c.Of(row.Name, Limit)
	return limit != nil && len(limit.Rounds) > 0 && limit.Seconds >= 1
}

func (c *Compared) bar(y int) bar {
	b := bar{Maker: c.Maker, Color: "#8c959f", Y: y, TextY: y + 13, TextX: left + 8}
	if (Maker{Name: c.Maker}).isOurs() {
		b.Color = "#3a923a"
	}
	if len(c.Rounds) == 0 {
		b.Text = "cannot"
		return b
	}
	b.Length = int(math.Round(widest * min(c.Times, longest) / longest))
	b.TextX += b.Length
	b.Text = fmt.Sprintf("%.2f (%s s)", c.Times, seconds(c.Seconds))
	return b
}
