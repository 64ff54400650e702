/** The reply that streams now, marked as not final. It is kept nowhere: a page that opens later does not have it. */
import { followed } from "../store/run.ts";
import type { LivePart } from "../model/live-text.ts";
import { visibleText } from "../model/visible-text.ts";

const LOST = {
  takeover: "Lost with its process. Another process takes over, and asks the model again.",
  noReply: "Lost: the call failed or broke off, and the model is asked again.",
} as const;

export function LiveText() {
  const step = followed.value?.live ?? null;
  if (step === null) return null;
  return (
    <section class={`live-text ${step.lost === null ? "" : "lost"}`} aria-label="What the model says now">
      <p class="small quiet" role="status">
        {step.lost === null ? "The model speaks. This is not final until it is recorded." : LOST[step.lost]}
      </p>
      <div class="live-words" tabIndex={0} role="region" aria-label="Its words">
        {step.parts.map((part, index) => (
          <Words key={index} part={part} />
        ))}
        {step.isCut ? <p class="quiet">…the rest comes with the reply</p> : null}
      </div>
    </section>
  );
}

const Words = ({ part: { kind, tool, text } }: { readonly part: LivePart }) =>
  kind === "call" ? (
    <p>
      <span class="quiet">calls</span> <b>{tool ?? "a tool"}</b> <code>{visibleText(text)}</code>
    </p>
  ) : (
    <p class={kind === "reasoning" ? "quiet" : ""}>{visibleText(text)}</p>
  );
