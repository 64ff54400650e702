/** Needs me: each approval, question and unknown outcome, with what is known and what each answer does. */
import { base } from "../api/http.ts";
import { cliOf } from "../model/commands.ts";
import { useLayoutEffect, useRef } from "preact/hooks";
import { count, relative, timeOfDay } from "../../render/words.ts";
import { type Need, repairId, restoredId, upgradeNeedId } from "../model/needs.ts";
import { Empty, Loading, MayBeOld, Problem } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.ts";
import { useSome } from "../parts/some.tsx";
import { route } from "../store/route.ts";
import { allNeeds, needs, needsCut, needsTrouble } from "../store/needs.ts";
import { ApprovalCard } from "../parts/approval-card.tsx";
import { QuestionCard } from "../parts/question-card.tsx";
import { UnknownCard } from "../parts/unknown-card.tsx";
import { MENDS } from "../../core/policy/mends.ts";
import type { Shown } from "../../operations/views.ts";
import { describe } from "../model/actions.ts";
import { sendDecision } from "../store/decided.ts";
import { AsCommand } from "../parts/action-dialog.tsx";
import { CardHead, Deciding } from "../parts/need-parts.tsx";
import type { RestoredRun } from "../../operations/approvals.ts";
import { now } from "../store/clock.ts";

export function Needs() {
  const only = route.value.query.get("run");
  const found = allNeeds.value ?? [];
  const shown = only === null ? found : found.filter(({ run }) => run === only);
  const keepPlace = useDecisionKeys(shown);
  return (
    <section class="page scrolls" aria-label="Needs me" onFocusIn={keepPlace}>
      <div class="inner">
        <div class="line">
          <h1 class="grow">Needs me</h1>
          {only === null ? null : (
            <a class="button" href="#/needs">
              Show what every run needs
            </a>
          )}
        </div>
        {needs.value === null ? <NotYet /> : <Cards shown={shown} only={only} />}
        <Cut />
        {needs.value === null ? null : <MayBeOld trouble={needsTrouble.value} />}
        {needs.value?.unreadable.map(({ run, why }) => (
          <p key={run} class="toast bad">
            Whether <code>{run}</code> waits for you is not known: {why}
          </p>
        ))}
      </div>
    </section>
  );
}

/** A second press within this time is meant for the same item, not for the one that has the focus by then. */
const TWICE_MS = 400;

const cards = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-need]")];

const focused = (): number => cards().findIndex((card) => card.contains(document.activeElement));

/** `a` and `d` decide only the item that has the focus, so an operator always sees what a key is about. */
function useDecisionKeys(shown: readonly Need[]): () => void {
  /** The place of the item that had the focus last. */
  const at = useRef(0);
  /** When the focus went to another item without a key that asks for it. */
  const movedAt = useRef(-Infinity);
  const isFirst = useRef(true);
  const focus = (index: number): boolean => {
    at.current = Math.max(0, Math.min(cards().length - 1, index));
    cards()[at.current]?.focus();
    return true;
  };
  useKeys(({ key, repeat, timeStamp }) => {
    const index = focused();
    if (key === "j") return focus(index < 0 ? at.current : index + 1);
    if (key === "k") return focus(index < 0 ? at.current : index - 1);
    if (key !== "a" && key !== "d") return false;
    if (repeat || timeStamp - movedAt.current < TWICE_MS) return true;
    if (index < 0) return focus(at.current);
    const button = cards()[index]?.querySelector<HTMLButtonElement>(`[data-key="${key}"]`);
    if (button === null || button === undefined) return true;
    movedAt.current = timeStamp;
    button.click();
    return focus(index + 1 < cards().length ? index + 1 : index);
  });
  // The first item gets the focus when the page opens, and the next one when the run of the focused one takes its answer.
  // Before the first paint: what is drawn hears its keys.
  useLayoutEffect(() => {
    if (shown.length === 0 || document.activeElement !== document.body) return;
    focus(at.current);
    if (!isFirst.current) movedAt.current = performance.now();
    isFirst.current = false;
  }, [shown.map(({ id }) => id).join(" ")]);
  return () => {
    const index = focused();
    if (index >= 0) at.current = index;
  };
}

const NotYet = () =>
  needsTrouble.value === null ? (
    <Loading rows={4} />
  ) : (
    <Problem trouble={needsTrouble.value} title="What waits for you cannot be read" />
  );

/** What this page leaves out. */
function Cut() {
  const { isWaitingCut, blockedCut } = needsCut.value;
  return (
    <>
      {isWaitingCut ? (
        <p class="toast">
          More runs may wait for you than this page reads. <code>npx cairn approvals</code> lists all.
        </p>
      ) : null}
      {blockedCut > 0 ? (
        <p class="toast">
          {count(blockedCut, "more blocked run")} may need you. <code>npx cairn list --status blocked</code> lists all.
        </p>
      ) : null}
    </>
  );
}

/** `only`: the run whose needs are shown; null: every run. */
function Cards({ shown, only }: { readonly shown: readonly Need[]; readonly only: string | null }) {
  const { some, more } = useSome(shown);
  const { isWaitingCut, blockedCut } = needsCut.value;
  const isUnsure = isWaitingCut || blockedCut > 0 || (needs.value?.unreadable.length ?? 0) > 0;
  const whose = only === null ? "" : " in this run";
  const title = `${isUnsure ? "Nothing found that waits" : "Nothing waits"} for you${whose}`;
  return shown.length === 0 ? (
    <Empty title={title} command={cliOf({ words: ["approvals"] }, base())}>
      Calls that need approval, questions, unknown outcomes, upgrades and refusals of providers appear here, the oldest
      deadline first.
    </Empty>
  ) : (
    <>
      {some.map((need) => (
        <article key={need.id} class="sheet card need" tabIndex={-1} data-need aria-label={need.title}>
          <CardOf need={need} />
        </article>
      ))}
      {more}
    </>
  );
}

function CardOf({ need }: { readonly need: Need }) {
  switch (need.kind) {
    case "gate":
      return <ApprovalCard gate={need.gate} />;
    case "question":
      return <QuestionCard question={need.question} />;
    case "unknown":
      return <UnknownCard run={need.shown} call={need.call} />;
    case "operator":
      return <RepairCard run={need.shown} />;
    case "restored":
      return <RestoredCard mark={need.mark} />;
    case "upgrade":
      return <UpgradeCard run={need.shown} />;
  }
}

const upper = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;

/** A run that waits until an operator has mended what fails. */
function RepairCard({ run: shown }: { readonly run: Shown }) {
  const { waitsFor } = shown;
  if (waitsFor?.kind !== "operator") return null;
  const action = describe("resume", shown).request("", false);
  const id = repairId(shown);
  return (
    <>
      <CardHead title={upper(MENDS[waitsFor.mends].says)} about={shown} />
      <p>{waitsFor.why}</p>
      <p class="quiet">Nothing was undone. Mend this, such as a key, a limit or a tool, and let the run go on.</p>
      <Deciding id={id} needs="resume" title="Resume">
        <div class="line">
          <button type="button" class="primary" data-key="a" onClick={() => void sendDecision(id, action)}>
            Resume
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}

/** A run whose store was restored: an operator checks what it did in the lost time, and says so. */
function RestoredCard({ mark }: { readonly mark: RestoredRun }) {
  const { run, at, asOf, waits } = mark;
  const action = describe("checked", { run, version: 0 }).request("", false);
  const id = restoredId(mark);
  const since = `Restored ${relative(at, now.value)}, from its state of ${timeOfDay(asOf, now.value)}.`;
  return (
    <>
      <CardHead title="Restored from a backup" about={mark} />
      <p>{since} What it did in between may have happened, and it does not know it.</p>
      <p class="quiet">
        {waits
          ? "A schedule or a keyed request of that time made it. It waits until you have checked the external services."
          : "Until you have checked the external services, it asks before each unsafe call, and probes first where it can."}
      </p>
      <Deciding id={id} needs="checked" title="Outside was checked">
        <div class="line">
          <button type="button" onClick={() => void sendDecision(id, action)}>
            Outside was checked
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}

/** A pinned run that waits for an operator to accept a newer version of its agent. */
function UpgradeCard({ run: shown }: { readonly run: Shown }) {
  const { run, agent, waitsFor } = shown;
  if (waitsFor?.kind !== "upgrade") return null;
  const action = describe("upgrade", shown).request("", false);
  const id = upgradeNeedId(run, waitsFor);
  return (
    <>
      <CardHead title={`Continue with version ${waitsFor.to}?`} about={shown} />
      <p>
        The run began with version {waitsFor.from}. Before you accept, npx cairn replay {run} --against {agent} shows
        what the newer code would do differently.
      </p>
      <Deciding id={id} needs="upgrade" title="Accept the version">
        <div class="line">
          <button type="button" class="primary" data-key="a" onClick={() => void sendDecision(id, action)}>
            Accept version {waitsFor.to}
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}
