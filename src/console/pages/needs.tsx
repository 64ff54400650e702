/** Needs me: each approval, question and unknown outcome, with what is known and what each answer does. */
import { base } from "../api/http.ts";
import { cliOf } from "../model/commands.ts";
import { useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../../render/words.ts";
import type { Need } from "../model/needs.ts";
import { Empty, Loading, MayBeOld, Problem } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.ts";
import { useSome } from "../parts/some.tsx";
import { route } from "../store/route.ts";
import { allNeeds, needs, needsCut, needsTrouble } from "../store/needs.ts";
import { ApprovalCard } from "../parts/approval-card.tsx";
import { QuestionCard } from "../parts/question-card.tsx";
import { RestoredCard } from "../parts/restored-card.tsx";
import { UnknownCard } from "../parts/unknown-card.tsx";
import { RepairCard } from "../parts/repair-card.tsx";
import { UpgradeCard } from "../parts/upgrade-card.tsx";

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
