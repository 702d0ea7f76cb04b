package schema

import (
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// decoder is that of client-go, for jobs.
var decoder = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	err := v1alpha1.AddToScheme(scheme)
	return serializer.NewCodecFactory(scheme).UniversalDeserializer(), err
})

// Decode does what a client in Go does with a stored job. It returns an error if the job, or what Go writes of it, cannot be decoded.
func Decode(stored []byte) error {
	decoder, err := decoder()
	if err != nil {
		return err
	}
	for range 2 {
		job, _, err := decoder.Decode(stored, nil, &v1alpha1.TrainingJob{})
		if err != nil {
			return fmt.Errorf("decoding: %w", err)
		}
		if stored, err = json.Marshal(job); err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
	}
	return nil
}
