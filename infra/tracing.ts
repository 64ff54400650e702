/**
 * X-Ray, if `deploy.tracing` of the config asks for it: the properties that turn it on, and what the roles may do for it.
 * API Gateway sends its traces with a role that AWS makes itself, so it needs no permission here.
 */
import type { Statement } from "./grants.ts";
import type { Plan } from "./plan.ts";

export const isTraced = ({ options }: Pick<Plan, "options">): boolean => options.tracing === "xray";

/** Properties of a function. Without `Active` Lambda traces only requests that are traced already. */
export const TRACED_FUNCTION = { tracingConfig: { mode: "Active" } } as const;

/** Lambda decides itself what it samples. AWS limits these actions to no resource. */
export const FUNCTION_TRACES: Statement = {
  actions: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
  resources: ["*"],
};

/** Step Functions also asks X-Ray which executions it shall sample. */
export const MACHINE_TRACES: Statement = {
  actions: [...FUNCTION_TRACES.actions, "xray:GetSamplingRules", "xray:GetSamplingTargets"],
  resources: ["*"],
};
