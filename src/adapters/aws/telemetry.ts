/**
 * Telemetry on Lambda. Each record is a structured line in the function's log. A record that counts anything also
 * writes a line in embedded metric format, from which CloudWatch makes metrics without a request. One line holds all
 * that a record counts, and it is written at once. Lines kept until the end of an invocation would be lost with a
 * process that dies, and such deaths must be counted.
 */
import { Logger } from "@aws-lambda-powertools/logger";
import { MetricUnit, Metrics } from "@aws-lambda-powertools/metrics";
import type { Telemetry } from "../../ports/world.ts";
import { NAMESPACE, countsOf, measuresOf } from "./metrics.ts";

/** `service` distinguishes the functions of a deployment in the log. */
export function lambdaTelemetry({
  service,
  deployment,
}: {
  readonly deployment: string;
  readonly service: string;
}): Telemetry {
  const logger = new Logger({ serviceName: service, logLevel: "INFO" });
  const metrics = new Metrics({ namespace: NAMESPACE, serviceName: deployment });
  return {
    record: (record) => {
      const { at, run, level, what, detail } = record;
      if (level === "trace") logger.info(what, { run, at, detail });
      else logger.error(what, { run, at, detail });
      const counts = countsOf(record);
      for (const name of counts) metrics.addMetric(name, MetricUnit.Count, 1);
      const measures = measuresOf(record);
      for (const [name, value] of measures) {
        metrics.addMetric(name, name.endsWith("Seconds") ? MetricUnit.Seconds : MetricUnit.NoUnit, value);
      }
      // Powertools warns if there is nothing to write.
      if (counts.length + measures.length > 0) metrics.publishStoredMetrics();
    },
  };
}
