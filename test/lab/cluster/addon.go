package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// addon is what only some labs have, beside the default scheduler: lab up --with NAME.
type addon struct {
	name string
	// crds are folders below the add-on's Go module; change, if any, returns what is to be changed in the definitions.
	crds   []string
	change func(*lab) (func(*apiextensions.CustomResourceDefinition), error)
	start  func(*lab, context.Context, program) error
}

func addons() []addon {
	return []addon{
		{name: "coscheduling", crds: []string{"config/crd/bases"}, start: (*lab).startCoscheduling},
		{name: "volcano", crds: []string{"config/crd/volcano/bases", "config/crd/jobflow/bases"}, start: (*lab).startVolcano},
		{name: "kueue", crds: []string{"config/components/crd/bases"}, change: (*lab).convertByKueue, start: (*lab).startKueue},
		{name: "kueue-adapter", start: (*lab).startKueueAdapter},
	}
}

// AddonNames are those that Options.With may hold.
func AddonNames() []string {
	var names []string
	for _, a := range addons() {
		names = append(names, a.name)
	}
	return names
}

// program is an add-on as make has built it: a binary beside lab's own, and a link NAME.module to the folder of
// the Go module that it was built from, where its CRDs are, or of its manifests.
type program struct {
	binary, module string
}

func (a addon) program() (program, error) { return built("--with", a.name) }

// built returns the program of that name below the folder of lab's own binary; the flag is what asks for it.
func built(flag, name string) (program, error) {
	self, err := os.Executable()
	if err != nil {
		return program{}, fmt.Errorf("finding this program: %w", err)
	}
	binary := filepath.Join(filepath.Dir(self), name)
	found := program{binary: binary, module: binary + ".module"}
	for _, path := range []string{found.binary, found.module} {
		if _, err := os.Stat(path); err != nil {
			return program{}, fmt.Errorf("%s %s: %w (make bin/%s makes it)", flag, filepath.Base(name), err, name)
		}
	}
	return found, nil
}

// withAddons returns the add-ons that the options name, in the order of addons.
func (o Options) withAddons() ([]addon, error) {
	for _, name := range o.With {
		if !slices.Contains(AddonNames(), name) {
			return nil, fmt.Errorf("--with %s: there is %s", name, strings.Join(AddonNames(), ", "))
		}
	}
	return slices.DeleteFunc(addons(), func(a addon) bool { return !slices.Contains(o.With, a.name) }), nil
}

func (l *lab) startAddons(ctx context.Context) error {
	chosen, err := l.withAddons()
	if err != nil {
		return err
	}
	for _, a := range chosen {
		program, err := a.program()
		if err != nil {
			return err
		}
		if err := a.start(l, ctx, program); err != nil {
			return err
		}
	}
	return nil
}
