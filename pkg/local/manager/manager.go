// Package manager is what controller-runtime's manager is to the operator, for one job on the API server in memory: the views and indexes
// of its cache, and the queue of reconciles. The simulator and local runs share it.
package manager

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

// Views returns what the operator's cache holds of each kind, as cluster.CacheOptions defines it.
func Views(signals nodes.Signals) map[server.Kind]server.View {
	options, err := cluster.CacheOptions(nil, signals)
	if err != nil {
		panic(err) // a selector of constants
	}
	all := map[server.Kind]server.View{}
	for _, kind := range server.Kinds {
		all[kind] = server.View{Select: options.DefaultLabelSelector, Transform: options.DefaultTransform}
	}
	for o, by := range options.ByObject {
		all[server.KindOf(o)] = server.View{Select: by.Label, Transform: by.Transform}
	}
	return all
}

// indexer collects the index functions of pods.
type indexer map[string]client.IndexerFunc

// IndexField adds an index.
func (i indexer) IndexField(_ context.Context, o client.Object, field string, index client.IndexerFunc) error {
	if _, isPod := o.(*corev1.Pod); isPod {
		i[field] = index
	}
	return nil
}

// Indexes returns the indexes of pods, as cluster.Index defines them.
func Indexes() map[string]client.IndexerFunc {
	found := indexer{}
	if err := cluster.Index(context.Background(), found); err != nil {
		panic(err) // the indexer returns none
	}
	return found
}
