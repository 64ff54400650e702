/**
 * The transport of a command to an API: `--api URL`, as the owner of the access token in `CAIRN_TOKEN`. It gives the
 * outcomes that the store would give.
 */
import { CairnError } from "../../client/errors.ts";
import { type Endpoint, ask } from "../../client/request.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { LISTED_MAX, type Listed } from "../../operations/list.ts";
import type { CallerView } from "../../operations/caller-view.ts";
import { commandLine, retyped } from "../../render/words.ts";
import { type RunsSought, resolveIn, unknownRun } from "../commands/runs.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { tracedBy } from "../perform.ts";
import type { Shell } from "../shell.ts";
import type { Transport } from "../transport.ts";
import { type Requested, documentWith, outcomesAt } from "./outcomes.ts";
import { TOKEN_NEEDED, refusedBy } from "./refused.ts";
import { WITHOUT_ROUTE } from "./remote.ts";
import { type FollowEnd, type FollowOptions, MAY_NEED_PERSON, needsPerson } from "../terminal/follow.ts";
import { labelWords } from "../../render/outage.ts";

export function httpTransport(shell: Shell, typed: string): Transport {
  const api = urlIn(shell, typed);
  // One without a route is for where the store is.
  const command = (...words: readonly string[]): string =>
    commandLine(WITHOUT_ROUTE[words[0] ?? ""] === undefined ? [...words, "--api", typed] : words);
  const token = tokenIn(shell);
  const headers = (): Readonly<Record<string, string>> => (token === "" ? {} : { authorization: `Bearer ${token}` });
  const endpoint: Endpoint = { url: api, send: (request) => fetch(request), headers };
  const asUserError = (error: CairnError, run: string | null = null): UserError =>
    refusedBy(error, { api, hasToken: token !== "", command, run });
  const perform = outcomesAt(endpoint, asUserError);
  const callerNow = async (): Promise<CallerView> => {
    try {
      const document = await ask(endpoint, { method: "get", path: "/caller", repeatable: true });
      return documentWith("actor", document) as unknown as CallerView;
    } catch (error) {
      throw error instanceof CairnError ? asUserError(error) : error;
    }
  };
  let known: Promise<CallerView> | null = null;
  const caller = (): Promise<CallerView> => (known ??= callerNow());
  return {
    command,
    opened: null,
    now: () => Date.now(),
    perform: (name, given, local) => perform(name, given, { ...tracedBy(shell), ...local }),
    actor: async () => (await caller()).actor,
    attendant: async () => (await callerNow()).attendant,
    resolve: (text, to) =>
      resolveIn(
        // Whether there is such a run is what the operation finds out.
        { isThere: async () => true, tenant: async () => (await caller()).tenant, pages: pagesOf(perform) },
        { text, command, to },
      ),
    gone: (run) => unknownRun(run, command("list")),
    summary: async (run) => {
      const outcome = await perform("show", { run });
      return outcome.kind === "shown" ? { ...outcome.shown, isCancelled: false } : null;
    },
    follow: (options) => followOver(perform, options, async () => (await callerNow()).attendant !== null),
  };
}

/** A tenant that the caller may not name has no runs. */
const pagesOf =
  (perform: Requested) =>
  async (
    { tenant, ...sought }: RunsSought,
    after: string | null,
  ): Promise<Pick<Listed, "runs" | "damaged" | "next">> => {
    const asked = tenant === DEFAULT_TENANT ? {} : { tenant };
    const page = await perform("list", { ...asked, ...sought, after, limit: LISTED_MAX });
    return page.kind === "tenantForeign" ? { runs: [], damaged: [], next: null } : page;
  };

/** A URL in which nothing is said but where the API is. A password in it is not repeated. */
function urlIn(shell: Shell, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (url !== null && isPlain && /^https?:$/.test(url.protocol)) return text;
  const isSecret = url !== null && url.username + url.password !== "";
  const what = isSecret ? "a URL with a password is no URL of an API" : `${text || "nothing"} is no URL of an API`;
  const why = "an API has a URL such as http://127.0.0.1:7420 or https://ID.execute-api.REGION.amazonaws.com/prod";
  const next = retyped(shell, "--api", "http://127.0.0.1:7420");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next });
}

/** Empty: none is given. One with another character would make an error of the platform, which repeats it. */
function tokenIn({ env }: Shell): string {
  const token = (env["CAIRN_TOKEN"] ?? "").trim();
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  const what = "CAIRN_TOKEN holds no access token";
  const why = "it has a space, a line break or another character that no token has";
  throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: TOKEN_NEEDED });
}

/** How long one request waits for events. A run may begin to need a human without one. */
const POLL_SECONDS = 5;

type IsAttended = () => Promise<boolean>;

/**
 * Follows a run over HTTP until it ends, needs a human or is interrupted: page by page, each waits for news.
 * `isAttended`: whether a process drives the runs of the server now.
 */
async function followOver(perform: Requested, options: FollowOptions, isAttended: IsAttended): Promise<FollowEnd> {
  try {
    return await followed(perform, options, isAttended);
  } catch (error) {
    if (!options.stop.aborted) throw error;
    return { kind: "stopped", shown: null };
  }
}

async function followed(
  perform: Requested,
  { run, stop, onEntries, onLook, onLive }: FollowOptions,
  isAttended: IsAttended,
): Promise<FollowEnd> {
  const asked = { signal: stop };
  for (let [place, wait] = [{ after: 0, cursor: "0" }, 0]; ; wait = POLL_SECONDS) {
    const at = onLive === undefined ? { after: place.after } : { deltas: true, cursor: place.cursor };
    const page = await perform("timeline", { run, wait, ...at }, asked);
    if (page.kind === "missing") return { kind: "ended", shown: null };
    const { live, entries, next, more, inProgress } = page;
    if (live !== undefined && live.reset !== null) onLive?.({ reset: live.reset, deltas: [] });
    if (entries.length > 0) onEntries(entries);
    if (live !== undefined && live.deltas.length > 0) onLive?.({ reset: null, deltas: live.deltas });
    place = { after: next, cursor: live?.cursor ?? `${next}` };
    if (more) continue;
    const found = await perform("show", { run }, asked);
    const shown = found.kind === "shown" ? found.shown : null;
    if (!inProgress || shown === null) return { kind: "ended", shown };
    if (MAY_NEED_PERSON.has(shown.status) && shown.resumable && needsPerson(shown)) return { kind: "blocked", shown };
    // An invocation that holds the run drives it.
    onLook(labelWords(shown, Date.now()), !shown.resumable || (await isAttended()));
  }
}
