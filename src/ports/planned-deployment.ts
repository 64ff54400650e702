/** What a deployment of a project would make, and what it would lack: `cairn infra --dry-run`, without an account. */

export interface PlannedDeployment {
  /** Each resource that the operator meets. Roles, policies and log groups belong to these, and are not listed. */
  readonly resources: readonly PlannedResource[];
  readonly functions: readonly PlannedFunction[];
  /** The secrets that the functions read: they have to be in the Parameter Store before the first run. */
  readonly secrets: readonly string[];
  /** What has to be mended or installed before a deployment; empty: nothing. */
  readonly missing: readonly DeploymentLack[];
}

export interface PlannedResource {
  readonly kind: "table" | "bucket" | "stateMachine" | "api" | "schedule" | "queue" | "alarms" | "dashboard" | "topic";
  readonly name: string;
  /** What is worth knowing of it, such as an expression or an address. */
  readonly says: string;
}

export interface PlannedFunction {
  readonly name: string;
  readonly memoryMb: number;
  readonly seconds: number;
  /** Reserved concurrency; null: that of the account. */
  readonly reserved: number | null;
  /** What a cold start reads, and all files; null: the functions could not be bundled. */
  readonly bundle: { readonly startBytes: number; readonly bytes: number; readonly files: number } | null;
}

export interface DeploymentLack {
  readonly code: string;
  readonly what: string;
  /** What to type or to write. */
  readonly next: string;
}
