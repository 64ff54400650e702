/** One webhook endpoint: whether it accepts requests, what waits for it, and buttons that send it again. */
import { useSignal } from "@preact/signals";
import { redeliverAction } from "../model/actions.ts";
import { circuitWords } from "../model/health.ts";
import { type ActionProgress, sendAction } from "../store/act.ts";
import { mayDo } from "../store/caller.ts";
import { now } from "../store/clock.ts";
import { hrefOf } from "../store/route.ts";
import type { WaitingNotification, WebhookView } from "../../operations/webhooks.ts";
import { count, shortRun } from "../../render/words.ts";
import { AsCommand, Refused } from "./action-dialog.tsx";
import { NotAllowed, When, Wide } from "./basics.tsx";

const SHOWN = 5;

export function WebhookCard({
  endpoint,
  others,
  onDone,
}: {
  readonly endpoint: WebhookView;
  readonly others: readonly WebhookView[];
  readonly onDone: () => void;
}) {
  const { id, to, circuit, removedAt, waiting, givenUp, isMore, notifications } = endpoint;
  const sent = useSignal<ActionProgress>({ kind: "no" });
  const send = async (notification: string | null, other: string | null): Promise<void> => {
    sent.value = { kind: "sending" };
    sent.value = await sendAction(redeliverAction(id, { notification, to: other }));
    onDone();
  };
  const isBusy = sent.value.kind === "sending";
  const isAllowed = mayDo("redeliver");
  const more = isMore ? " or more" : "";
  const targets = others.filter((each) => each.id !== id && each.removedAt === null);
  return (
    <article class="sheet card" aria-label={to}>
      <div class="line">
        <h3 class="grow">{to}</h3>
        <code class="quiet">{id}</code>
      </div>
      <p class={circuit.failures > 0 || removedAt !== null ? "warn" : ""}>{circuitWords(endpoint, now.value)}</p>
      <p class="quiet">
        {waiting}
        {more} waiting, {givenUp}
        {more} given up
      </p>
      {notifications.length === 0 ? null : (
        <Notifications
          label={`Notifications to ${id}`}
          all={notifications.slice(0, SHOWN)}
          isBusy={isBusy}
          onSend={isAllowed && removedAt === null ? send : null}
        />
      )}
      {sent.value.kind === "refused" ? <Refused trouble={sent.value.trouble} /> : null}
      {sent.value.kind === "accepted" ? (
        <p class="toast" role="status">
          {count(Number(sent.value.outcome["notifications"]), "notification")} put back: the next sweep sends what is
          due.
        </p>
      ) : null}
      {waiting + givenUp === 0 ? null : isAllowed ? (
        <div class="line">
          {removedAt === null ? (
            <button type="button" disabled={isBusy} onClick={() => void send(null, null)}>
              Send all again
            </button>
          ) : null}
          {targets.map((each) => (
            <button key={each.id} type="button" disabled={isBusy} onClick={() => void send(null, each.id)}>
              Move to {each.to}
            </button>
          ))}
        </div>
      ) : (
        <NotAllowed titles={["Send again"]} />
      )}
      {waiting + givenUp === 0 ? null : <AsCommand action={redeliverAction(id, { notification: null, to: null })} />}
    </article>
  );
}

const Notifications = ({
  label,
  all,
  isBusy,
  onSend,
}: {
  readonly label: string;
  readonly all: readonly WaitingNotification[];
  readonly isBusy: boolean;
  readonly onSend: ((notification: string, to: null) => Promise<void>) | null;
}) => (
  <Wide label={label}>
    <table class="table refused">
      <thead>
        <tr>
          <th>Event</th>
          <th>Run</th>
          <th>Tried</th>
          <th>Last error</th>
          <th>Action</th>
        </tr>
      </thead>
      <tbody>
        {all.map(({ id, event, run, at, attempts, why, isGivenUp }) => (
          <tr key={id}>
            <td>
              {event} <When at={at} class="quiet small" />
            </td>
            <td>
              <a href={hrefOf(["run", run])}>{shortRun(run)}</a>
            </td>
            <td>
              {attempts}
              {isGivenUp ? ", given up" : ""}
            </td>
            <td>{why ?? "not tried yet"}</td>
            <td class="end">
              {onSend === null ? null : (
                <button type="button" disabled={isBusy} onClick={() => void onSend(id, null)}>
                  Send again
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);
