/**
 * What must hold of the webhooks of a history: the endpoint gets each notification of a commit, at least once and always
 * under one ID, and hears of nothing that was never committed.
 */
import type { Event } from "../../../src/core/event.ts";
import type { ObservedHistory } from "../observed-history.ts";
import { replay } from "../replay.ts";
import type { Feature } from "./feature.ts";
import { notificationName } from "./webhook-endpoint.ts";

/** What a commit holds that the endpoint wants to hear of. */
function announcedBy(event: Event): { readonly type: string; readonly facts: Readonly<Record<string, string>> } | null {
  if (event.kind === "RunEnded") {
    return { type: `run.${event.status}`, facts: event.status === "failed" ? { code: event.failure.code } : {} };
  }
  if (event.kind === "ApprovalRequested") {
    return { type: "approval.requested", facts: { call: event.call, gate: event.gate } };
  }
  if (event.kind === "WaitBegun") {
    return event.wait.for === "answer" ? { type: "question.asked", facts: { call: event.call } } : null;
  }
  return event.kind === "CrackSignalled" ? { type: "crack.signalled", facts: { crack: event.crack } } : null;
}

function announcedIn({ history }: ObservedHistory): readonly string[] {
  return replay(history).commits.flatMap(({ version, events }) => [
    ...events.flatMap((event) => {
      const said = announcedBy(event);
      return said === null ? [] : [notificationName(said.type, { version: String(version), ...said.facts })];
    }),
    ...(becomesBlocked(history, version) ? [`${version} run.blocked`] : []),
  ]);
}

function becomesBlocked({ stored }: ObservedHistory["history"], version: number): boolean {
  const statusOf = (of: number) => stored.find(({ row }) => row.version === of)?.row.status;
  return statusOf(version) === "blocked" && statusOf(version - 1) !== "blocked";
}

function wrong(seen: ObservedHistory): readonly string[] {
  const { posts } = seen.history.features;
  const announced = announcedIn(seen);
  const heard = new Set(posts.flatMap(({ about, status }) => (status === 200 ? [about] : [])));
  return [
    ...announced.flatMap((about) => (heard.has(about) ? [] : [`nobody heard of ${about}`])),
    ...[...heard].flatMap((about) => (announced.includes(about) ? [] : [`${about} was told and never committed`])),
    ...[...new Set(posts.map(({ about }) => about))].flatMap((about) => {
      const ids = new Set(posts.flatMap((post) => (post.about === about ? [post.id] : [])));
      return ids.size > 1 ? [`${about} was told under ${[...ids].join(" and ")}`] : [];
    }),
    ...[...new Set(posts.map(({ id }) => id))].flatMap((id) => {
      const abouts = new Set(posts.flatMap((post) => (post.id === id ? [post.about] : [])));
      return abouts.size > 1 ? [`${id} told ${[...abouts].join(" and ")}`] : [];
    }),
  ];
}

const TYPES = ["run.completed", "run.failed", "run.cancelled", "run.blocked", "approval.requested", "question.asked"];
const CELLS = [...TYPES, "told twice"].map((what) => `webhook ${what}`);

function met({ history }: ObservedHistory): readonly string[] {
  const abouts = history.features.posts.map(({ about }) => about);
  const isTwice = abouts.some((about, index) => abouts.indexOf(about) !== index);
  return [
    ...TYPES.flatMap((type) => (abouts.some((about) => about.includes(` ${type}`)) ? [`webhook ${type}`] : [])),
    ...(isTwice ? ["webhook told twice"] : []),
  ];
}

export const WEBHOOKS: Feature = { isIn: ({ plan }) => plan.features.webhooks !== null, wrong, cells: CELLS, met };
