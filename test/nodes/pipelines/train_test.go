//go:build pipelines

package pipelines

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A step that runs a TrainingJob", Label("train"), func() {
	It("gives outputs to the next step, and the leader's log", func(ctx SpecContext) {
		w := run(ctx, "train", map[string]string{"job": training("400", "0"), "on_termination": "suspend", "rows": "100"})
		Expect(w.ends(ctx)).To(Equal("Succeeded"))
		made := jobs(ctx)
		Expect(made).To(HaveLen(1))
		step := w.node(ctx, trainStep)
		Expect(step.parameter(trainStep + "-phase")).To(Equal("Succeeded"))
		Expect(step.parameter(trainStep + "-restarts")).To(Equal("0"))
		Expect(string(unpacked(step.artifact(ctx, trainStep+"-name")))).To(Equal(made[0].Name))
		var metrics struct {
			Metrics []struct {
				Name        string
				NumberValue float64
			}
		}
		Expect(json.Unmarshal(unpacked(step.artifact(ctx, "mlpipeline-metrics")), &metrics)).To(Succeed())
		Expect(metrics.Metrics).To(ContainElement(HaveField("Name", "running-seconds")))
		done := `worker-0 rank=\d+ world=3 attempt=0 step=\d+ done loss=0\.0`
		Expect(w.log(ctx, trainStep+"(0)")).To(MatchRegexp(done))
		Expect(string(w.node(ctx, trainStep+"(0)").artifact(ctx, "main-logs"))).To(MatchRegexp(done))
		loss, err := strconv.ParseFloat(string(unpacked(w.node(ctx, "evaluate").artifact(ctx, "evaluate-Output"))), 64)
		Expect(err).NotTo(HaveOccurred())
		Expect(loss).To(BeNumerically("<", goodLoss))
	})

	It("trains once though its container is killed", func(ctx SpecContext) {
		w := run(ctx, "train", map[string]string{"job": training("2000", "0.02"), "on_termination": "suspend", "rows": "100"})
		before, members := runningJob(ctx), replicas(ctx)
		_, err := given.Run(ctx, "pod", "kill", w.pod(ctx, trainStep+"(0)").Name, "--namespace", namespace, "--container", "main")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() string { return w.node(ctx, trainStep+"(1)").Phase }).Should(Equal("Running"))
		Expect(replicas(ctx)).To(Equal(members), "the pods that train")
		Expect(w.ends(ctx)).To(Equal("Succeeded"))
		Expect(w.node(ctx, trainStep+"(0)").Phase).To(Equal("Failed"))
		Expect(w.log(ctx, trainStep+"(1)")).To(ContainSubstring("is there from an earlier try of this step"))
		after := jobs(ctx)
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).To(Equal(before.UID))
		Expect(after[0].Status.Restarts).To(BeZero())
		Expect(after[0].Status.Attempt).To(BeZero())
	})

	It("continues its job though its pod is deleted, as by a drain", func(ctx SpecContext) {
		w := run(ctx, "train", map[string]string{"job": training("2000", "0.02"), "on_termination": "suspend", "rows": "100"})
		before := runningJob(ctx)
		pod := w.pod(ctx, trainStep+"(0)")
		Expect(kube.Delete(ctx, &pod)).To(Succeed())
		Expect(w.ends(ctx)).To(Equal("Succeeded"))
		next := trainStep + "(1)"
		if w.node(ctx, next).ID == "" {
			next = trainStep + "(0)" // Argo has made the pod of the same try again
		}
		Expect(w.pod(ctx, next).UID).NotTo(Equal(pod.UID))
		Expect(w.log(ctx, next)).To(ContainSubstring("is there from an earlier try of this step"))
		after := jobs(ctx)
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).To(Equal(before.UID))
		Expect(after[0].Status.ChargedRestarts).To(BeZero())
	})

	It("fails with its job, and names the replica and its last words", func(ctx SpecContext) {
		w := run(ctx, "train", map[string]string{"job": failing(), "on_termination": "suspend", "rows": "100"})
		Expect(w.ends(ctx)).To(Equal("Failed"))
		first := w.node(ctx, trainStep+"(0)")
		for _, words := range []string{"Replica worker-1", "exit code 3", "no such file: /data/train.csv"} {
			Expect(first.Message).To(ContainSubstring(words))
		}
		Expect(w.node(ctx, "evaluate").Phase).To(Equal("Omitted"))
		Expect(jobs(ctx)).To(HaveLen(1), "a failed job stays failed: tries after it train nothing")
		Expect(jobs(ctx)[0].Status.Attempt).To(BeZero())
	})
})

// unpacked returns the one file of an artifact, which Argo stores as an archive.
func unpacked(archive []byte) []byte {
	GinkgoHelper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	Expect(err).NotTo(HaveOccurred())
	files := tar.NewReader(plain)
	_, err = files.Next()
	Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(files)
	Expect(err).NotTo(HaveOccurred())
	return content
}
