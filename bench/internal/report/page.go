package report

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/zklock/zklock/bench/internal/result"
)

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"verdicts": verdicts,
	"cells":    cells,
	"figures":  figuresOf,
	"header":   header,
	"unit":     unit,
	"plot":     func(alt, name string) string { return "" }, // Page knows
	"oneLine":  func(text string) string { return strings.Join(strings.Fields(text), " ") },
	"pair": func(run *result.Run, f result.Figure) map[string]any {
		return map[string]any{"run": run, "figure": f}
	},
}).Parse(pageText))

// Page writes benchmarks.md and its plots into the directory of results.
func Page(dir string, run *result.Run) (err error) {
	if err := plots(filepath.Join(dir, "benchmarks"), run); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		return err
	}
	images := template.FuncMap{"plot": func(alt, name string) string {
		if _, err := os.Stat(filepath.Join(dir, "benchmarks", name+".svg")); err != nil {
			return "" // nobody did what it shows
		}
		return fmt.Sprintf("![%s](benchmarks/%s.svg)", alt, name)
	}}
	written := template.Must(page.Clone()).Funcs(images)
	return errors.Join(written.Execute(file, run), file.Close())
}

// figuresOf returns the figures of works whose names begin with one of the
// prefixes.
func figuresOf(run *result.Run, prefixes ...string) []result.Figure {
	var chosen []result.Figure
	for _, f := range run.Figures {
		for _, prefix := range prefixes {
			if strings.HasPrefix(f.ID, prefix) && len(f.Rows) > 0 {
				chosen = append(chosen, f)
			}
		}
	}
	return chosen
}
