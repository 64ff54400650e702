/** Schedules: the next firings, the last one, and pause or run now. */
import { useSignal } from "@preact/signals";
import { askApi } from "../api/http.ts";
import { scheduleAction } from "../model/actions.ts";
import type { Offerable } from "../model/allowed.ts";
import { type ConsoleAction, pathOf } from "../model/commands.ts";
import { AsCommand, Refused } from "../parts/action-dialog.tsx";
import { Empty, Loading, NotAllowed, Problem, When } from "../parts/basics.tsx";
import { type ActionProgress, runIn, sendAction } from "../store/act.ts";
import { mayDo } from "../store/caller.ts";
import { hrefOf } from "../store/route.ts";
import { usePolled } from "../store/use-read.ts";
import type { ScheduleList, Scheduled } from "../../operations/schedules.ts";

const EVERY_MS = 5_000;
const NEXT_SHOWN = 5;

export function Schedules() {
  const read = (): Promise<ScheduleList> => askApi(pathOf("schedules", {}));
  const { value: list, trouble, again } = usePolled(read, { everyMs: EVERY_MS });
  return (
    <section class="page scrolls" aria-label="Schedules">
      <div class="inner">
        <h1>Schedules</h1>
        {list === null && trouble === null ? <Loading rows={3} /> : null}
        {list === null && trouble !== null ? <Problem trouble={trouble} title="The schedules cannot be read" /> : null}
        {list?.schedules.length === 0 ? (
          <Empty title="No agent has a schedule" command="npx cairn init my-project --template scheduled">
            An agent with a schedule starts its own runs. The template shows one:
          </Empty>
        ) : null}
        {list?.schedules.map((each) => (
          <Schedule key={each.agent} of={each} onDone={again} />
        ))}
      </div>
    </section>
  );
}

function Schedule({ of, onDone }: { readonly of: Scheduled; readonly onDone: () => void }) {
  const { agent, every, timezone, paused } = of;
  const sent = useSignal<ActionProgress>({ kind: "no" });
  const buttons: readonly { readonly title: string; readonly needs: Offerable; readonly action: ConsoleAction }[] = [
    { title: "Run now", needs: "runSchedule", action: scheduleAction(agent, "run") },
    paused === null
      ? { title: "Pause", needs: "pauseSchedule", action: scheduleAction(agent, "pause") }
      : { title: "Resume", needs: "resumeSchedule", action: scheduleAction(agent, "resume") },
  ];
  const allowed = buttons.filter(({ needs }) => mayDo(needs));
  const act = async (action: ConsoleAction): Promise<void> => {
    sent.value = { kind: "sending" };
    sent.value = await sendAction(action);
    onDone();
  };
  const isBusy = sent.value.kind === "sending";
  return (
    <article class="sheet card">
      <div class="line">
        <h2 class="grow">
          <a href={hrefOf(["agents", agent])}>{agent}</a>
        </h2>
        <code>{every}</code> <span class="quiet">{timezone}</span>
      </div>
      {paused === null ? null : (
        <p class="warn">
          Paused by {paused.by} <When at={paused.at} />: its firings start nothing.
        </p>
      )}
      <Firings of={of} />
      {sent.value.kind === "refused" ? <Refused trouble={sent.value.trouble} /> : null}
      {sent.value.kind === "accepted" && runIn(sent.value.outcome) !== "" ? (
        <p class="toast" role="status">
          Started: <a href={hrefOf(["run", runIn(sent.value.outcome)])}>its run</a>
        </p>
      ) : null}
      <div class="line">
        {allowed.map(({ title, action }) => (
          <button key={title} type="button" disabled={isBusy} onClick={() => void act(action)}>
            {title}
          </button>
        ))}
      </div>
      <NotAllowed titles={buttons.filter((each) => !allowed.includes(each)).map(({ title }) => title)} />
      <AsCommand action={buttons.map(({ action }) => action)} />
    </article>
  );
}

const [DAY, TIME] = [{ dateStyle: "medium" }, { timeStyle: "short" }] as const;

/** `timeZone`: default is that of the browser. */
const inWords = (at: number, style: Intl.DateTimeFormatOptions, timeZone?: string): string =>
  new Date(at).toLocaleString(undefined, { ...style, timeZone });

/** The time in the zone of the schedule, with the day where that is another one; null: both zones say the same. */
function elsewhere(at: number, zone: string): string | null {
  const style = inWords(at, DAY, zone) === inWords(at, DAY) ? TIME : { ...DAY, ...TIME };
  const words = inWords(at, style, zone);
  return words === inWords(at, style) ? null : words;
}

const Firings = ({ of: { timezone, overlap, missed, next, last } }: { readonly of: Scheduled }) => (
  <dl class="facts">
    <dt>next</dt>
    <dd>
      {next.length === 0 ? "never" : null}
      {next.slice(0, NEXT_SHOWN).map((at) => (
        <p key={at}>
          {inWords(at, { ...DAY, ...TIME })} <When at={at} class="quiet" />
          {elsewhere(at, timezone) === null ? null : (
            <span class="quiet">
              {" "}
              ({elsewhere(at, timezone)} {timezone})
            </span>
          )}
        </p>
      ))}
    </dd>
    <dt>last</dt>
    <dd>
      {last === null ? (
        "it has not fired"
      ) : (
        <>
          <When at={last.at} />{" "}
          {last.run === null ? "it started nothing" : <a href={hrefOf(["run", last.run])}>its run</a>}
        </>
      )}
    </dd>
    <dt>if the last run goes on</dt>
    <dd>{overlap}</dd>
    <dt>missed firings</dt>
    <dd>{missed}</dd>
  </dl>
);
