/**
 * What a user of `cairn-run/sst` passes and gets. SST publishes no types, so these describe its values by their
 * structure. They must not name a global of SST: a project is type-checked before SST wrote those into it.
 */
import type { JwtOptions } from "../src/sdk/access.ts";

/** A value of SST that is known only during a deployment. */
export interface OutputOf<T> {
  apply(use: (value: T) => unknown): unknown;
}

/** A value, or one that another resource of the same deployment has, such as `queue.url`. */
export type InputOf<T> = T | OutputOf<T>;

/** What all agents of a component may use in their beats, or one agent more than the others. */
export interface AgentOptions {
  /** Memory of the function that runs the beats, in MB, 256 to 10240; default: `deploy.memoryMb` of the config. */
  readonly memoryMb?: number;
  /** Environment variables, besides `deploy.env` of the config. Never put a secret here. */
  readonly env?: Readonly<Record<string, InputOf<string>>>;
  /** What the tools may do in AWS. */
  readonly permissions?: readonly Permission[];
  /** ARNs of Lambda layers. */
  readonly layers?: readonly InputOf<string>[];
  /** The network in which the beats run, to reach a database there. It needs a way to AWS and to the model. */
  readonly vpc?: Vpc;
}

export interface Permission {
  readonly actions: readonly string[];
  readonly resources: readonly InputOf<string>[];
}

export interface Vpc {
  readonly privateSubnets: readonly InputOf<string>[];
  readonly securityGroups: readonly InputOf<string>[];
}

/** Options of one component. */
export interface CairnOptions extends AgentOptions {
  /** The folder of `cairn.config.ts`, relative to `sst.config.ts`; default: the same folder. */
  readonly config?: string;
  /** Options of single agents, by name. Each must have a function of its own (`deploy.isolation` of the config). */
  readonly agents?: Readonly<Record<string, AgentOptions>>;
  /** The name or ARN of an existing, empty table. It is checked, used as it is, and neither changed nor removed. */
  readonly table?: string;
  /** The name or ARN of an existing bucket. It is used as it is, and neither changed nor removed. */
  readonly bucket?: string;
  /** The ARN of a KMS key with which table and bucket are encrypted; default: keys of AWS, which cost nothing. */
  readonly kmsKey?: string;
  /** Whether the HTTP API is reachable; default true. */
  readonly api?: boolean;
  /** How the HTTP API identifies its callers; default: `access` of the config, then IAM. */
  readonly access?: Access;
  /** The domain of the HTTP API: a name whose zone is in Route 53, or a name with a certificate of your own. */
  readonly domain?: string | Domain;
  /** Whether alarms and their dashboard are created; default true. */
  readonly alarms?: boolean;
}

/** As `access` of the config. The issuer may be a resource of the same deployment, such as a pool of users. */
export interface Access {
  readonly auth: "token" | "jwt" | "iam";
  readonly jwt?: Omit<JwtOptions, "issuer" | "audience"> & {
    readonly issuer: InputOf<string>;
    readonly audience: InputOf<string>;
  };
}

/** A domain, in the terms of `sst.aws.ApiGatewayV1`. */
export interface Domain {
  readonly name: string;
  readonly path?: string;
  /** The ARN of a validated certificate in ACM. */
  readonly cert?: string;
  /** `false`: you point the domain at the API yourself, so a certificate is needed. */
  readonly dns?: false;
}

/** A component, as its user sees it. */
export interface Cairn {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
  /** The address of the HTTP API; null without one. */
  readonly url: OutputOf<string> | null;
}
