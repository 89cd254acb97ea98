// Command bench compares Ebb with distribution's own garbage collector and with the bare file-system work, side by side.
//
//	go run ./test/bench            measure and print tables
//	go run ./test/bench -doc docs/performance.md
//
// All contenders run as processes of their own, in turn, in one run on one machine, so that their ratios mean something.
// So do the buckets of S3 that they are compared on: what is counted there is the same on every machine.
// It refuses to judge: what it prints are medians and ratios, and no test depends on them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == childCommand {
		return child(ctx, args[1:])
	}
	opts, err := parse(args)
	if err != nil {
		return err
	}
	tables, err := measure(ctx, opts)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := fmt.Fprintf(os.Stdout, "%s\n", t.text); err != nil {
			return err
		}
	}
	if opts.doc == "" {
		return nil
	}
	return insert(opts.doc, tables)
}

// options are the flags.
type options struct {
	repositories, images int    // the wide fixture
	single               int    // images of the fixture with one repository
	reps                 int    // measurements of each contender
	dir                  string // where fixtures are made
	doc                  string // file that takes the tables
	cases                string // comma-separated names; empty: all
	contenders           string // comma-separated names
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.repositories, "repositories", 1000, "repositories of the wide fixture")
	flags.IntVar(&o.images, "images", 10, "images in each repository of the wide fixture")
	flags.IntVar(&o.single, "single", 2000, "images of the fixture with one repository")
	flags.IntVar(&o.reps, "reps", 5, "measurements of each contender")
	flags.StringVar(&o.dir, "dir", "", "folder for the fixtures, with space for 20 GB and 5 million files (default: the system's temporary folder)")
	flags.StringVar(&o.doc, "doc", "", "Markdown file to write the tables into, each between its bench markers")
	flags.StringVar(&o.cases, "cases", "", "what to measure, of check,single,run,objects,latency (default: all; latency takes seven minutes)")
	flags.StringVar(&o.contenders, "contenders", "stock,ebb,bare", "whom to measure")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.reps < 1 || o.repositories < 1 || o.images < 1 || o.single < 1 {
		return o, errors.New("sizes and repetitions must be at least 1")
	}
	return o, nil
}

// chosen tells whether name is in a comma-separated list; an empty list holds everything.
func chosen(list, name string) bool {
	return list == "" || strings.Contains(","+list+",", ","+name+",")
}
