package recount

import "github.com/otel-topk/collector/internal/archive"

// progress tells how far a count came.
type progress struct {
	tell  func(Progress)
	now   Progress
	sizes int64 // of the files that are still to be opened
	known int64 // rows of files that were opened, and their size
	size  int64
}

func newProgress(tell func(Progress), files []archive.File) progress {
	p := progress{tell: tell, now: Progress{Files: len(files)}}
	for _, f := range files {
		p.sizes += f.Size
	}
	return p
}

// next notes the file that comes next.
func (p *progress) next(f archive.File) { p.sizes -= f.Size }

// open notes how many rows a file has.
func (p *progress) open(f archive.File, rows int64) {
	p.known += rows
	p.size += f.Size
}

// rows notes that n more were counted.
func (p *progress) rows(n int, spilled int64) {
	p.now.RowsDone += int64(n)
	p.say(spilled)
}

// done notes the end of a file, whether it was opened or not.
func (p *progress) done(spilled int64) {
	p.now.FilesDone++
	p.say(spilled)
}

func (p *progress) say(spilled int64) {
	if p.tell == nil {
		return
	}
	p.now.Spilled = spilled
	p.now.Rows = p.known
	if p.size > 0 {
		p.now.Rows += int64(float64(p.known) / float64(p.size) * float64(p.sizes))
	}
	p.tell(p.now)
}
