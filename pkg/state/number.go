package state

import (
	"strconv"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// livesPerAttempt is how many numbers of lives an attempt has.
const livesPerAttempt = 1_000_000

// LifeNumber returns the number of the lives that begin with the status: the fencing token of their pods. It grows with every status that
// gives a replica or the job another life.
func LifeNumber(status *v1alpha1.TrainingJobStatus) int64 {
	return int64(status.Attempt)*livesPerAttempt + int64(status.Memory.Lives)
}

// NextLives returns memory.lives of a status that gives replicas their next life, in that attempt. An attempt that has used up its numbers leaves the rest to
// the next one, so that no number comes twice.
func NextLives(was *v1alpha1.TrainingJobStatus, attempt int32) int32 {
	if attempt == was.Attempt {
		return was.Memory.Lives + 1
	}
	return max(0, was.Memory.Lives+1-livesPerAttempt)
}

// LifeOf returns the life of the pod. The job may give a replica the same life before and after a suspension. A pod from before the
// suspension has a life that is before all lives of the job.
func (s *Snapshot) LifeOf(p *Pod) Life {
	if p.Number < s.Job.Status.Memory.ResumeNumber {
		return Life{Attempt: -1}
	}
	return p.Life
}

// numberOf reads the number of a life; 0 for a text that is none.
func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
