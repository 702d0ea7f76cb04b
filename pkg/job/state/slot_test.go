package state_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

func TestPodNames(t *testing.T) {
	cases := []struct {
		name string
		job  string
		slot state.Slot
		life state.Life
		want string
	}{
		{"the first life has no suffix", "j", state.Slot{Role: v1alpha1.Worker, Index: 3}, state.Life{}, "j-worker-3"},
		{"a later attempt has", "j", state.Slot{Role: v1alpha1.PS, Index: 0}, state.Life{Attempt: 2}, "j-ps-0-a2r0"},
		{"a replacement has", "j", state.Slot{Role: v1alpha1.Chief}, state.Life{Replacement: 1}, "j-chief-0-a0r1"},
		{"a role of the job's own", "j", state.Slot{Role: "actor", Index: 1}, state.Life{Replacement: 2}, "j-actor-1-a0r2"},
		{"a job may be called like a replica", "j-worker-0", state.Slot{Role: v1alpha1.Worker, Index: 9999},
			state.Life{Attempt: 10000, Replacement: 12}, "j-worker-0-worker-9999-a10000r12"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := state.PodName(c.job, c.slot, c.life); got != c.want {
				t.Errorf("name %q, want %q", got, c.want)
			}
			if slot, life, ok := state.ParsePodName(c.job, c.want); !ok || slot != c.slot || life != c.life {
				t.Errorf("%q is read as %v %v %t", c.want, slot, life, ok)
			}
		})
	}
}

// Each name belongs to nobody but one life of one slot: what looks like one is none.
func TestNamesThatPodNameDoesNotMake(t *testing.T) {
	for _, name := range []string{
		"", "j", "j-", "j-worker", "j-worker-", "j-worker-x", "j-worker-01", "j-worker-+1", "j-worker--1", "j-Worker-1", "j-worker-0-a0r0",
		"j-worker-0-a1", "j-worker-0-r1", "j-worker-0-1r1", "j-worker-0-a01r0", "j-worker-0-a1r", "j-worker-0-a1r1r1", "j-worker-0-a1r1-x",
		"k-worker-0", "jj-worker-0", "j-0boss-0", "j-averyveryveryverylongrole-0", "j-master-0-a-1r0", "j-worker-0-a99999999999999999999r0", "worker-0",
		"j--0", "j--0-a1r0", // no role at all
		"j-worker-65536", "j-worker-9223372036854775807", // no job has so many replicas, and no status can remember one
	} {
		if slot, life, ok := state.ParsePodName("j", name); ok {
			t.Errorf("%q is taken for the pod of %v, life %v", name, slot, life)
		}
	}
}

// Names of different slots and lives are different, also across jobs whose names contain roles, indexes and lives.
func TestNamesNeverCollide(t *testing.T) {
	jobs := []string{"j", "j-worker", "j-worker-0", "j-worker-0-a1r0", "j-worker-0-worker-0", "worker", "worker-1", "worker-1-1", "a1r0", "ps-0-a1r1"}
	lives := []state.Life{{}, {Attempt: 1}, {Replacement: 1}, {Attempt: 1, Replacement: 1}, {Attempt: 11}, {Attempt: 1, Replacement: 11}}
	seen := map[string]string{}
	for _, job := range jobs {
		for _, role := range v1alpha1.Roles {
			for _, index := range []int{0, 1, 10, 11, 111} {
				for _, life := range lives {
					slot := state.Slot{Role: role, Index: index}
					name, who := state.PodName(job, slot, life), job+" "+slot.String()+" "+life.String()
					if other, taken := seen[name]; taken {
						t.Errorf("%q is the name of %s and of %s", name, other, who)
					}
					seen[name] = who
					if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
						t.Errorf("%q is no pod name: %v", name, problems)
					}
				}
			}
		}
	}
}

func TestLivesAreInOrder(t *testing.T) {
	ordered := []state.Life{{}, {Replacement: 1}, {Replacement: 2}, {Attempt: 1}, {Attempt: 1, Replacement: 1}, {Attempt: 2}}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.Before(b) != (i < j) {
				t.Errorf("%v before %v: %t", a, b, a.Before(b))
			}
		}
	}
}

func FuzzParsePodName(f *testing.F) {
	f.Add("j", "j-worker-0", 0, 0, 0, 0)
	f.Add("j-worker-1", "j-worker-1-ps-3-a1r2", 3, 7, 1, 2)
	f.Add("", "--", 5, 9999, 10000, 10000)
	f.Add("j", "j--0", -1, -1, -1, -1)
	f.Add("j", "j-worker-9223372036854775807", 1, 1, 1, 1)
	f.Fuzz(func(t *testing.T, job, name string, role, index, attempt, replacement int) {
		if slot, life, ok := state.ParsePodName(job, name); ok && state.PodName(job, slot, life) != name {
			t.Errorf("%q is taken for %v %v, whose name is %q", name, slot, life, state.PodName(job, slot, life))
		}
		if role < 0 || index < 0 || index >= 65_536 || attempt < 0 || replacement < 0 || attempt > 1<<30 || replacement > 1<<30 {
			return
		}
		slot := state.Slot{Role: v1alpha1.Roles[role%len(v1alpha1.Roles)], Index: index}
		life := state.Life{Attempt: attempt, Replacement: replacement}
		made := state.PodName(job, slot, life)
		if gotSlot, gotLife, ok := state.ParsePodName(job, made); !ok || gotSlot != slot || gotLife != life {
			t.Errorf("%q of %v %v is read as %v %v %t", made, slot, life, gotSlot, gotLife, ok)
		}
	})
}
