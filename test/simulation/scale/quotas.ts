/**
 * What one AWS account may do by default, and the latencies that the simulation assumes. Each quota is that of
 * us-east-1 in the documentation of the service, as of November 2026.
 */

/** A bucket of tokens: it holds `size`, and refills by `perSecond`. */
export interface Quota {
  readonly size: number;
  readonly perSecond: number;
}

export interface Quotas {
  /** Invocations at the same time, of all functions. Lambda: "Lambda quotas". */
  readonly lambdaConcurrency: number;
  /** Step Functions: "Quotas related to API action throttling", Standard. */
  readonly startExecution: Quota;
  /** State transitions, retries included. Step Functions: "Quotas related to state throttling". */
  readonly stateTransition: Quota;
  /** Write units of a new table on demand. DynamoDB: "Initial throughput and scaling properties". */
  readonly tableWrites: Quota;
  readonly tableReads: Quota;
  /** Write units of one partition, so of one key of an index. DynamoDB: "Burst and adaptive capacity". */
  readonly partitionWrites: Quota;
}

const second = (perSecond: number): Quota => ({ size: perSecond, perSecond });

export const DEFAULT_QUOTAS: Quotas = {
  lambdaConcurrency: 1_000,
  startExecution: { size: 1_300, perSecond: 300 },
  stateTransition: second(5_000),
  tableWrites: second(4_000),
  tableReads: second(12_000),
  partitionWrites: second(1_000),
};

/** Assumed, milliseconds. Each is drawn between half of it and one and a half times of it. */
export const LATENCY_MS = {
  table: 6,
  get: 15,
  put: 25,
  transition: 40,
  coldStart: 800,
  startExecution: 30,
  model: 2_800,
  tool: 200,
} as const;
