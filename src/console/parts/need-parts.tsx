/** What the cards of Needs me share. */
import type { ComponentChildren } from "preact";
import { hrefOf } from "../store/route.ts";
import { fates } from "../store/decided.ts";
import { shortRun } from "../../cli/render/words.ts";
import { Refused } from "./action-dialog.tsx";

export const CardHead = (of: {
  readonly title: ComponentChildren;
  readonly run: string;
  readonly agent: string;
  readonly children?: ComponentChildren;
}) => (
  <div class="line">
    <h2 class="grow">{of.title}</h2>
    <span class="small quiet">{of.children}</span>
    <a class="small" href={hrefOf(["run", of.run])}>
      {of.agent} <code>{shortRun(of.run)}</code>
    </a>
  </div>
);

/** Where the decision stands; the buttons while there is none. */
export function Deciding({ id, children }: { readonly id: string; readonly children: ComponentChildren }) {
  const fate = fates.value.get(id);
  if (fate?.kind === "accepted") {
    return (
      <p class="toast" role="status">
        Accepted, waiting for the run to take it.
      </p>
    );
  }
  if (fate?.kind === "sending") return <p role="status">Sending…</p>;
  return (
    <>
      {fate?.kind === "refused" ? <Refused trouble={fate.trouble} /> : null}
      {children}
    </>
  );
}
