/** The error for a request that the API, or what stands before it, refused without an outcome. */
import type { CairnError } from "../../client/errors.ts";
import { ROWS } from "../../operations/table.ts";
import { shellQuoted } from "../../render/words.ts";
import { UserError, EXIT, type ExitCode } from "../../compose/user-error.ts";

/** The exit code of each code that the operation table gives. */
const EXITS: ReadonlyMap<string, ExitCode> = new Map(
  Object.values(ROWS).flatMap(({ outcomes }) =>
    Object.values(outcomes).flatMap(({ code, exit }) => (code === null ? [] : [[code, EXIT[exit]] as const])),
  ),
);

export function refusedBy(
  error: CairnError,
  asked: {
    readonly api: string;
    readonly hasToken: boolean;
    readonly command: (...words: readonly string[]) => string;
    /** The run that was asked for; null: none. */
    readonly run: string | null;
  },
): UserError {
  const { code, status, message } = error;
  const [what = "", ...rest] = message.split(": ");
  const isLoginMissing = status === 401 && !asked.hasToken;
  const why = isLoginMissing
    ? "CAIRN_TOKEN is not set"
    : wrongPlaces(error) || rest.join(": ") || `${asked.api} answered ${status ?? "nothing"}`;
  // A code of a login may also be one of an operation on tokens.
  const exit = (status === 401 ? undefined : EXITS.get(code)) ?? (code === "Unsendable" ? EXIT.usage : exitFor(status));
  return new UserError({ code, exit, what, why, next: nextAfter(error, asked) }, { cause: error });
}

/** What to type where a token is missing or does not count. */
export const TOKEN_NEEDED = "export CAIRN_TOKEN=cairn_ID_SECRET";

/** Codes of an API that is not there, or that is something else. */
const NO_API: ReadonlySet<string> = new Set(["Unreachable", "Unexplained", "PathUnknown"]);
/** Codes of a run whose stored data cannot be read. */
const DAMAGED: ReadonlySet<string> = new Set(["Unreadable", "RowDamaged"]);

function nextAfter({ code, status }: CairnError, { api, run, command }: Parameters<typeof refusedBy>[1]): string {
  if (status === 401) return TOKEN_NEEDED;
  if (NO_API.has(code)) return `curl -i ${shellQuoted(`${api.replace(/\/+$/, "")}/healthz`)}`;
  return run !== null && DAMAGED.has(code) ? command("verify", run) : command("list");
}

const PLACES_MAX = 5;

/** What of a request is wrong, and where; empty: the answer does not say so. */
function wrongPlaces({ facts: { errors } }: CairnError): string {
  if (!Array.isArray(errors)) return "";
  const places = errors as readonly Partial<Record<"pointer" | "header" | "parameter" | "detail", string>>[];
  return places
    .slice(0, PLACES_MAX)
    .map(({ pointer, header, parameter, detail }) => `${pointer ?? header ?? parameter ?? "it"}: ${detail ?? "wrong"}`)
    .join("; ");
}

function exitFor(status: number | null): ExitCode {
  if (status === null || status >= 500 || status < 400) return EXIT.store;
  if (status === 404) return EXIT.notFound;
  return [400, 413, 415, 422].includes(status) ? EXIT.usage : EXIT.refused;
}
