/** What the log of a conversation says of its messages: the history that a page begins with, and what may still change. */
import type { Context } from "hono";
import type { Json } from "../../core/json.ts";
import { type UiMessage, assistantMessage, userMessage } from "./ui-history.ts";
import { type UiFold, USER_ID, addEntries, uiFold, wholeTurns } from "./ui-messages.ts";
import type { EventPage } from "../../operations/event-page.ts";
import { type ChatRoutes, asked } from "./chat-run.ts";
import type { SaidMessage } from "./ui-said.ts";

export interface ChatLog {
  readonly fold: UiFold;
  /** What the user said, by the ID of the message, in the order of the log. The first one is the `task`. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Reads the log of the run. Null: there is no such run. A response: the API's refusal. */
export async function chatLogOf(c: Context, routes: ChatRoutes, run: string): Promise<ChatLog | Response | null> {
  const shown = await asked(c, routes, { path: `/runs/${run}` });
  if (shown.status === 404) return null;
  if (!shown.ok) return shown;
  const { task } = (await shown.json()) as { readonly task: Json };
  const fold = uiFold(run);
  const texts = new Map([[TASK, typeof task === "string" ? task : JSON.stringify(task)]]);
  for (let after = 0, isMore = true; isMore;) {
    const answer = await asked(c, routes, { path: `/runs/${run}/events?after=${after}&wait=0`, isFirst: false });
    if (!answer.ok) return answer;
    const page = (await answer.json()) as EventPage;
    addEntries(fold, page.entries);
    for (const entry of page.entries) {
      if (entry.kind !== "MessageAbsorbed" || entry.stage !== "taken" || !("text" in entry.body)) continue;
      if (entry.message.startsWith(USER_ID)) texts.set(entry.message.slice(USER_ID.length), entry.body.text);
    }
    [after, isMore] = [page.next, page.more];
  }
  return { fold, texts };
}

const TASK = "task";

/** The messages before the last answer, each as JSON, turn by turn of the server. */
export async function messagesBefore({ fold, texts }: ChatLog, turn: () => Promise<void>): Promise<string[]> {
  const turns = wholeTurns(fold.segments);
  const places = new Map([...texts.keys()].map((id, place) => [id, place]));
  const last = fold.segments.at(-1)?.turn ?? 1;
  const messages: string[] = [];
  for (let number = 1; number <= last; number += 1) {
    await turn();
    const own = turns.get(number);
    const begun = [...new Set(own?.entries)].filter((id) => places.has(id));
    const asks = begun.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
    const said = asks.map((id) => userMessage(id, texts.get(id) ?? ""));
    const answers = number === last || own === undefined ? [] : [assistantMessage(own.chunks)];
    // A user who goes on while a call waits begins a turn that may stay without an answer.
    const shown: readonly UiMessage[] = [...said, ...answers.filter(({ parts }) => parts.length > 0)];
    messages.push(...shown.map((each) => JSON.stringify(each)));
  }
  return messages;
}

/** What a page that took messages back gets instead. */
export interface Stands {
  /** What the page shows anew: the last answer, where it is the only one that the page took back. */
  readonly isLast: boolean;
  readonly why: string;
}

/**
 * Whether the log already has what this message would change. What a run read and did cannot be taken back, so its
 * conversation only goes on. Null: the message is new, or the page sends it again because it has no answer.
 */
export function standing({ fold, texts }: ChatLog, { id, text, isFirst, anew }: SaidMessage): Stands | null {
  const known = texts.has(id) ? id : isFirst ? TASK : null;
  if (known === null || anew === null) return null;
  const isLast = [...texts.keys()].at(-1) === known;
  const isSame = texts.get(known) === text;
  if (isSame && isLast && (anew === "edit" || fold.segments.at(-1)?.isDone !== true)) return null;
  const what =
    anew === "edit" ? "The message stands, and its change was not sent" : "The answer stands, and no other one is made";
  const why = `${what}: the run ${fold.run} has read it, and what the run did cannot be taken back. Say in a new message what you want instead, or begin a new chat.`;
  const rest = isLast && anew === "answer" ? "" : " Load the page again to see the whole conversation.";
  return { isLast: isLast && anew === "answer", why: `${why}${rest}` };
}
