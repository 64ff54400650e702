/** The runs that this one dispatched, and the messages that it took in. */
import { useMemo } from "preact/hooks";
import { groupOf } from "../model/groups.ts";
import { Status } from "../parts/icons.tsx";
import { When } from "../parts/basics.tsx";
import { money } from "../parts/run-row.tsx";
import { useSome } from "../parts/some.tsx";
import { hrefOf } from "../store/route.ts";
import { runs } from "../store/runs.ts";
import { messageWords } from "../../render/message.ts";
import { shortRun, titleWords } from "../../render/words.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";

const childrenIn = (entries: readonly TimelineEntry[]): readonly Child[] =>
  entries.flatMap((entry) =>
    entry.kind === "ChildDispatched" ? [{ run: entry.child, agent: entry.agent, call: entry.call }] : [],
  );

const messagesIn = (entries: readonly TimelineEntry[]) =>
  entries.flatMap((entry) => (entry.kind === "MessageAbsorbed" && entry.stage === "taken" ? [entry] : []));

interface Child {
  readonly run: string;
  readonly agent: string;
  readonly call: string;
}

export function Family({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const all = useMemo(() => childrenIn(entries), [entries]);
  const taken = useMemo(() => messagesIn(entries), [entries]);
  const { some: children, more: moreChildren } = useSome(all);
  const { some: messages, more: moreMessages } = useSome(taken);
  return (
    <div class="page scrolls">
      <div class="inner">
        <section class="sheet card">
          <h2>Children</h2>
          {run.parent === null ? null : (
            <p>
              It is a child itself, of{" "}
              <a href={hrefOf(["run", run.parent])}>
                <code>{run.parent}</code>
              </a>
            </p>
          )}
          {children.length === 0 ? (
            <p class="quiet">It dispatched no run.</p>
          ) : (
            <ul class="tree">
              {children.map((child) => (
                <ChildLine key={child.run} child={child} />
              ))}
            </ul>
          )}
          {moreChildren}
        </section>
        <section class="sheet card">
          <h2>Messages taken in</h2>
          {messages.length === 0 ? (
            <p class="quiet">None yet. A message, a decision or an answer appears here when a beat has taken it.</p>
          ) : (
            <ol class="effects">
              {messages.map(({ message, at, body }) => (
                <li key={message}>
                  <When at={at} class="quiet small" /> {messageWords(body, (call) => call)}{" "}
                  {body.kind === "child" ? <a href={hrefOf(["run", body.child])}>its run</a> : null}
                </li>
              ))}
            </ol>
          )}
          {moreMessages}
        </section>
      </div>
    </div>
  );
}

function ChildLine({ child: { run, agent, call } }: { readonly child: Child }) {
  const known = runs.value?.runs.find((each) => each.run === run);
  return (
    <li class="line">
      <a href={hrefOf(["run", run])}>
        {agent} <code>{shortRun(run)}</code>
      </a>
      {known === undefined ? null : <span>{titleWords(known)}</span>}
      {known === undefined ? null : <Status group={groupOf(known)} word={known.status} />}
      {known === undefined ? null : <span>{money(known.spent.usd)}</span>}
      <span class="quiet small">
        by call <code>{call}</code>
      </span>
    </li>
  );
}
