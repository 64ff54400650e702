/** Renders the webhook endpoints of a store. */
import type { WebhookView } from "../operations/webhooks.ts";
import { type Style, fittedTable } from "./paint.ts";
import { relative, short, shortRun, timeOfDay } from "./words.ts";

export function renderWebhooks(endpoints: readonly WebhookView[], page: Style): string {
  if (endpoints.length === 0)
    return "no process of this store has sent a webhook: name endpoints under webhooks in cairn.config.ts";
  const columns = ["ENDPOINT", "TO", "STATE", "WAITS", "GIVEN UP"].map((title) => ({ title }));
  const rows = endpoints.map((each) => [
    each.id,
    each.to,
    stateOf(each, page),
    countOf(each.waiting, each),
    countOf(each.givenUp, each),
  ]);
  const more = endpoints.flatMap((each) => (each.notifications.length === 0 ? [] : ["", ...linesOf(each, page)]));
  return [...fittedTable(columns, rows, page), ...more].join("\n");
}

/** Whether requests go to it, in words. */
function stateOf(
  { circuit, removedAt }: Pick<WebhookView, "circuit" | "removedAt">,
  { now }: Pick<Style, "now">,
): string {
  if (removedAt !== null) return "no longer in the config";
  const { isOpen, failures, why, nextAt } = circuit;
  if (failures === 0) return "accepts requests";
  const failed = `${failures} failed in a row: ${why ?? "no answer"}`;
  if (!isOpen) return failed;
  return `${failed}; tried again ${nextAt === null || nextAt <= now ? "by the next sweep" : relative(nextAt, now)}`;
}

const countOf = (count: number, { isMore }: Pick<WebhookView, "isMore">): string =>
  isMore && count > 0 ? `${count} or more` : String(count);

function linesOf({ id, notifications }: WebhookView, page: Style): readonly string[] {
  const columns = ["NOTIFICATION", "EVENT", "RUN", "AT", "TRIED", "WHY"].map((title) => ({ title }));
  const rows = notifications.map(({ id: notification, event, run, at, attempts, isGivenUp, why }) => [
    notification,
    event,
    shortRun(run),
    timeOfDay(at, page.now),
    `${attempts}${isGivenUp ? ", given up" : ""}`,
    short(why ?? "", 60),
  ]);
  return [`for ${id}`, ...fittedTable(columns, rows, page)];
}
