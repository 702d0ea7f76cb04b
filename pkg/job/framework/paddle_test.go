package framework_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
)

func TestEachReplicaOfAPaddleJobWithServersFindsItselfInTheListsOfAll(t *testing.T) {
	for name, job := range everyShape(v1alpha1.Paddle, master, ps(2), evaluators(1)) {
		if job.Spec.Replicas(v1alpha1.PS) == 0 {
			continue
		}
		for slot, env := range environmentOf(job) {
			trainers := strings.Split(env["PADDLE_TRAINER_ENDPOINTS"], ",")
			own := build.Address(job, slot) + ":36543"
			found := env["POD_IP"] + ":" + env["PADDLE_PORT"] // without which fleet.init ends
			switch slot.Role {
			case v1alpha1.Evaluator:
				if len(env) != 1 {
					t.Errorf("%s: %s has %v", name, slot, env)
				}
			case v1alpha1.PS:
				servers := strings.Split(env["PADDLE_PSERVERS_IP_PORT_LIST"], ",")
				if found != own || !slices.Contains(servers, found) || env["TRAINING_ROLE"] != "PSERVER" {
					t.Errorf("%s: %s looks for %s among the servers %q", name, slot, found, servers)
				}
			default:
				if id, err := strconv.Atoi(env["PADDLE_TRAINER_ID"]); found != own || err != nil || id >= len(trainers) || trainers[id] != own {
					t.Errorf("%s: %s of rank %s is not %s among the trainers %q", name, slot, env["PADDLE_TRAINER_ID"], own, trainers)
				}
			}
		}
	}
}

// paddle.distributed.launch serves the meeting in one replica, the one that has 127.0.0.1 for the master.
func TestOneReplicaServesTheMeetingOfAPaddleCollective(t *testing.T) {
	for name, job := range everyShape(v1alpha1.Paddle, master, evaluators(1)) {
		serving, rest := 0, map[string]bool{}
		for slot, env := range environmentOf(job) {
			switch {
			case slot.Role == v1alpha1.Evaluator:
			case env["PADDLE_TRAINER_ENDPOINTS"] != "":
				t.Errorf("%s: the launcher in %s takes the first of PADDLE_TRAINER_ENDPOINTS for the master", name, slot)
			case env["PADDLE_MASTER"] == "127.0.0.1:36543" && env["PADDLE_RANK"] == "0":
				serving++
			default:
				rest[env["PADDLE_MASTER"]] = true
			}
		}
		if serving != 1 || len(rest) > 1 || rest["127.0.0.1:36543"] {
			t.Errorf("%s: %d replicas serve, the others go to %v", name, serving, rest)
		}
	}
}
