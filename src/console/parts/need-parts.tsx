/** What the cards of Needs me share. */
import { base } from "../api/http.ts";
import { cliOf } from "../model/commands.ts";
import type { ComponentChildren } from "preact";
import type { Offerable } from "../model/allowed.ts";
import type { ArgsRead } from "../store/omitted-args.ts";
import type { Shown, ShownParse } from "../../operations/views.ts";
import { visibleText } from "../model/visible-text.ts";
import { hrefOf } from "../store/route.ts";
import { fates } from "../store/decided.ts";
import { shortRun, titleWords } from "../../render/words.ts";
import { mayDo } from "../store/caller.ts";
import { Refused } from "./action-dialog.tsx";
import { Command, ShownJson, NotAllowed } from "./basics.tsx";

export const CardHead = ({
  title,
  children,
  about,
}: {
  readonly title: ComponentChildren;
  readonly about: Pick<Shown, "run" | "agent" | "title" | "startKey">;
  readonly children?: ComponentChildren;
}) => (
  <div class="line">
    <h2 class="grow">{title}</h2>
    <span class="small quiet">{children}</span>
    <span class="small">{titleWords(about)}</span>
    <a class="small" href={hrefOf(["run", about.run])}>
      {about.agent} <code>{shortRun(about.run)}</code>
    </a>
  </div>
);

/** Where the decision stands; the buttons while there is none. `needs`: the operation that decides. */
export function Deciding({
  id,
  needs,
  title,
  children,
}: {
  readonly id: string;
  readonly needs: Offerable;
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  const fate = fates.value.get(id);
  if (!mayDo(needs)) return <NotAllowed titles={[title]} />;
  if (fate?.kind === "accepted") {
    return (
      <p class="toast" role="status">
        Accepted, waiting for the run to take it.
        {fate.toolGone ? " Its agent has no such tool any more: without it the call does not run." : ""}
      </p>
    );
  }
  // Another tab or operator was first, so no answer of this page counts.
  if (fate?.kind === "refused" && fate.trouble.code === "Duplicate") return <Refused trouble={fate.trouble} />;
  if (fate?.kind === "sending") return <p role="status">Sending…</p>;
  return (
    <>
      {fate?.kind === "refused" ? <Refused trouble={fate.trouble} /> : null}
      {children}
    </>
  );
}

/** The arguments of a call, or why they are not shown. */
export const Arguments = ({ read, run }: { readonly read: ArgsRead; readonly run: string }) =>
  read.kind === "known" ? (
    <>
      <ShownJson of={read.args} />
      <Parsed of={read.parsed} />
    </>
  ) : read.kind === "reading" ? (
    <p role="status">The arguments are too long for this list, so they are read from the run…</p>
  ) : (
    <div class="toast bad">
      <p>The arguments are not shown: {read.why} This shows them:</p>
      <Command text={cliOf({ words: ["show", run, "--json"] }, base())} />
    </div>
  );

/** What the tool gets in place of the arguments, and what it does not get of them. */
const Parsed = ({ of }: { readonly of: ShownParse | null }) =>
  of === null ? null : (
    <>
      <p>
        {of.as === "value"
          ? "The tool gets what its schema makes of them:"
          : "The tool gets what its schema makes of them. That is not JSON, so this only shows it:"}
      </p>
      <ShownJson of={of.json} />
      {of.dropped.length === 0 ? null : <p class="bad">The tool does not get: {visibleText(of.dropped.join(", "))}</p>}
    </>
  );
