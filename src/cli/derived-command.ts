/** A command that is derived from its operation alone: the words and options fill the input, the outcome is printed. */
import type { BeatFlags } from "../compose/surroundings.ts";
import { EXIT, type UserError } from "../compose/user-error.ts";
import { ROWS } from "../operations/table.ts";
import { transportTo, transportToRead } from "./choose-transport.ts";
import { refusedAs } from "./perform.ts";
import { type Shell, printDocument } from "./shell.ts";
import type { Transport } from "./transport.ts";
import type { TypedInput, TypedCommand } from "./typed-command.ts";

/** Performs the operation of the command. Prints its outcome as a document, and a change for people as a sentence. */
export async function performTyped(shell: Shell, typed: TypedCommand, given: TypedInput): Promise<number> {
  const { operation } = typed;
  const row = ROWS[operation];
  const flags = given.flags as BeatFlags & { readonly tenant?: string };
  const transport = await (row.writes ? transportTo : transportToRead)(shell, flags);
  const filled = inputOf(typed, given);
  const run =
    typeof filled["run"] === "string" ? await transport.resolve(filled["run"], row.writes ? undefined : "read") : null;
  const input = { ...filled, ...(run !== null && { run }) };
  const parsed = row.input.safeParse(input);
  if (!parsed.success) return given.fail(parsed.error.issues.map(issueLine).join("; "));
  // Who types a command beside a store can read all of it.
  const local = { isOperator: true };
  const named = flags.tenant === undefined ? local : { ...local, tenant: flags.tenant };
  const outcome = await transport.perform(operation, input as never, named);
  const { kind, ...document }: { readonly kind: string } = outcome;
  const report = row.outcomes[kind];
  if (report?.code !== null) throw refusal(transport, { typed, run, kind });
  if (shell.json || !row.writes) printDocument(shell, document);
  else shell.terminal.out(report.says);
  return EXIT[report.exit];
}

const issueLine = ({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string =>
  `${path.map(String).join(".")}: ${message}`;

/** What the user typed, by the fields of the input. */
function inputOf({ flags, operation }: TypedCommand, given: TypedInput): Readonly<Record<string, unknown>> {
  const { flags: options, fail: _, ...words } = given as TypedInput & Readonly<Record<string, unknown>>;
  const typed = options as Readonly<Record<string, unknown>>;
  const fields = Object.keys(ROWS[operation].input.shape);
  const filled = flags.map(({ flag, fills }) => {
    const name = nameOf(flag);
    return [fills ?? name, typed[name]] as const;
  });
  return Object.fromEntries(
    [...Object.entries(words), ...filled].filter(([field, value]) => value !== undefined && fields.includes(field)),
  );
}

/** The name by which commander gives the option, such as `keepArchive`. */
const nameOf = (flag: string): string =>
  (/--([a-z-]+)/.exec(flag)?.[1] ?? "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

function refusal(
  transport: Transport,
  { typed, run, kind }: { readonly typed: TypedCommand; readonly run: string | null; readonly kind: string },
): UserError {
  if (kind === "missing" && run !== null) return transport.gone(run);
  const row = ROWS[typed.operation];
  const says = row.outcomes[kind]?.says ?? kind;
  const what = `\`cairn ${typed.command}\` was refused${run === null ? "" : ` for run ${run}`}`;
  const next = run === null ? transport.command(...typed.command.split(" "), "--help") : transport.command("show", run);
  return refusedAs(row, kind, {
    what,
    why: `${says.charAt(0).toLowerCase()}${says.slice(1).replace(/\.$/, "")}`,
    next,
  });
}
