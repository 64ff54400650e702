/** Needs me: each approval, question and unknown outcome, with what is known and what each answer does. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Need } from "../model/needs.ts";
import { Empty, Loading, Problem } from "../parts/basics.tsx";
import { useKeys } from "../parts/keys.ts";
import { route } from "../store/route.ts";
import { allNeeds, needs, needsTrouble } from "../store/needs.ts";
import { ApprovalCard } from "../parts/approval-card.tsx";
import { QuestionCard } from "../parts/question-card.tsx";
import { UnknownCard } from "../parts/unknown-card.tsx";
import { UpgradeCard } from "../parts/upgrade-card.tsx";

export function Needs() {
  const only = route.value.query.get("run");
  const found = allNeeds.value ?? [];
  const shown = only === null ? found : found.filter(({ run }) => run === only);
  const at = useSignal(0);
  const focus = (index: number): boolean => {
    at.value = Math.max(0, Math.min(shown.length - 1, index));
    document.querySelectorAll<HTMLElement>("[data-need]")[at.peek()]?.focus();
    return true;
  };
  /** Presses the button of the card that has the focus, or of the first. */
  const press = (action: string): boolean => {
    const cards = [...document.querySelectorAll<HTMLElement>("[data-need]")];
    const card = cards.find((each) => each.contains(document.activeElement)) ?? cards[0];
    card?.querySelector<HTMLButtonElement>(`[data-key="${action}"]`)?.click();
    return true;
  };
  useKeys((key) => {
    if (key === "j") return focus(at.peek() + 1);
    if (key === "k") return focus(at.peek() - 1);
    return (key === "a" || key === "d") && press(key);
  });
  useEffect(() => {
    at.value = 0;
  }, [only]);
  return (
    <section class="page scrolls" aria-label="Needs me">
      <div class="inner">
        <div class="line">
          <h1 class="grow">Needs me</h1>
          {only === null ? null : (
            <a class="button" href="#/needs">
              Show what every run needs
            </a>
          )}
        </div>
        {needs.value === null ? <NotYet /> : <Cards shown={shown} />}
        {needs.value?.unreadable.map(({ run, why }) => (
          <p key={run} class="toast bad">
            Whether <code>{run}</code> waits for you is not known: {why}
          </p>
        ))}
      </div>
    </section>
  );
}

const NotYet = () =>
  needsTrouble.value === null ? (
    <Loading rows={4} />
  ) : (
    <Problem trouble={needsTrouble.value} title="What waits for you cannot be read" />
  );

const Cards = ({ shown }: { readonly shown: readonly Need[] }) =>
  shown.length === 0 ? (
    <Empty title="Nothing waits for you" command="npx cairn approvals">
      Calls that need approval, questions, unknown outcomes and upgrades appear here, the oldest deadline first.
    </Empty>
  ) : (
    <>
      {shown.map((need) => (
        <article key={need.id} class="sheet card need" tabIndex={-1} data-need aria-label={need.title}>
          <CardOf need={need} />
        </article>
      ))}
    </>
  );

function CardOf({ need }: { readonly need: Need }) {
  switch (need.kind) {
    case "gate":
      return <ApprovalCard gate={need.gate} />;
    case "question":
      return <QuestionCard question={need.question} />;
    case "unknown":
      return <UnknownCard run={need.shown} call={need.call} />;
    case "upgrade":
      return <UpgradeCard run={need.shown} />;
  }
}
