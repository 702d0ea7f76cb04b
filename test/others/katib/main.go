// The program stands for Katib's database manager. It listens at the address in its argument, and prints each metric that a collector of Katib reports, in a
// line of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	manager "github.com/kubeflow/katib/pkg/apis/manager/v1beta1"
	"google.golang.org/grpc"
)

type database struct {
	manager.UnimplementedDBManagerServer
}

func (database) ReportObservationLog(_ context.Context, r *manager.ReportObservationLogRequest) (*manager.ReportObservationLogReply, error) {
	for _, l := range r.GetObservationLog().GetMetricLogs() {
		fmt.Println(r.GetTrialName(), l.GetMetric().GetName(), l.GetMetric().GetValue())
	}
	return &manager.ReportObservationLogReply{}, nil
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	manager.RegisterDBManagerServer(server, database{})
	log.Fatal(server.Serve(listener))
}
