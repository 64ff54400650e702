/**
 * Which world a command speaks to: flag, environment, config, then the embedded one. The world of AWS is named by its
 * table, bucket and machine; region, keys and address are what every AWS tool reads from the environment.
 */
import type { Config } from "../sdk/config.ts";
import { CliError, EXIT } from "./errors.ts";
import { retyped } from "./input.ts";
import type { Shell, StoreFlags } from "./shell.ts";
import { commandLine } from "./render/words.ts";

export const WORLDS = ["local", "aws"] as const;

export type WorldName = (typeof WORLDS)[number];

export interface AwsNames {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
}

/** Null is the embedded world. */
export function awsNamesOf(
  shell: Shell,
  of: { readonly flags: StoreFlags; readonly config: Config | null },
): AwsNames | null {
  return worldOf(shell, of) === "aws" ? namesIn(shell) : null;
}

function worldOf(shell: Shell, of: { readonly flags: StoreFlags; readonly config: Config | null }): WorldName {
  const { flags, config } = of;
  const said = flags.world ?? (shell.env["CAIRN_WORLD"] || config?.world) ?? "local";
  const known = WORLDS.find((world) => world === said);
  if (known !== undefined) return known;
  const why = `there are: ${WORLDS.join(", ")}`;
  const next = flags.world === undefined ? "unset CAIRN_WORLD" : retyped(shell, "--world", "local");
  throw new CliError({ code: "Usage", exit: EXIT.usage, what: `there is no world ${said}`, why, next });
}

const VARIABLES = { table: "CAIRN_TABLE", bucket: "CAIRN_BUCKET", machine: "CAIRN_MACHINE" } as const;

function namesIn({ env, argv }: Shell): AwsNames {
  const missing = Object.values(VARIABLES).filter((name) => !env[name]);
  const machine = env[VARIABLES.machine] ?? "";
  if (missing.length > 0) {
    throw new CliError({
      code: "WorldIncomplete",
      exit: EXIT.usage,
      what: `the world aws is not named: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not set`,
      why: "what deploys cairn prints them; on this machine that is LocalStack",
      next: 'eval "$(npm run --silent localstack)"',
      facts: { missing },
    });
  }
  if (!/^arn:aws[\w-]*:states:[\w-]+:\d+:stateMachine:[\w-]+$/.test(machine)) {
    const why = "it is the whole ARN of a state machine, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME";
    const next = commandLine(argv);
    throw new CliError({ code: "Usage", exit: EXIT.usage, what: `CAIRN_MACHINE is ${machine}`, why, next });
  }
  return { table: env[VARIABLES.table] ?? "", bucket: env[VARIABLES.bucket] ?? "", machine };
}
