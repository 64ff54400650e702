/** Small parts of every page: times, commands to copy, and the states that a view can be in. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { UNREACHABLE, type ShownProblem } from "../api/problem.ts";
import { jsonText, visibleText } from "../model/visible-text.ts";
import { now } from "../store/clock.ts";
import { relative } from "../../render/words.ts";

/** A time relative to now, and exactly on hover. */
export const When = ({ at, class: name = "" }: { readonly at: number; readonly class?: string }) => (
  <time class={name} dateTime={new Date(at).toISOString()} title={exact(at)}>
    {relative(at, now.value)}
  </time>
);

/** Local time with its offset, so that it can be compared with a log of another place. */
export function exact(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const copied = useSignal<"no" | "yes" | "refused">("no");
  const copy = async (): Promise<void> => {
    try {
      // A page that came over plain HTTP from another machine has no clipboard, so this may throw too.
      await navigator.clipboard.writeText(text);
      copied.value = "yes";
    } catch {
      copied.value = "refused";
    }
    setTimeout(() => (copied.value = "no"), 1_500);
  };
  const words = { no: label, yes: "Copied", refused: "Not copied" }[copied.value];
  return (
    <button type="button" class="plain" onClick={() => void copy()} aria-live="polite">
      {words}
    </button>
  );
}

export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code>{text}</code>
    <Copy text={text} />
  </div>
);

/** What may be wider than the page, such as a table. A region that scrolls can be reached by keyboard. */
export const Wide = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  <div class="wide" tabIndex={0} role="region" aria-label={label}>
    {children}
  </div>
);

/** The title of a notice: of the whole page, or of a part of one. */
const Title = ({ of, isPage = false }: { readonly of: string; readonly isPage?: boolean | undefined }) =>
  isPage ? <h1>{of}</h1> : <h2>{of}</h2>;

/** Nothing is there: what would be here, and the command that makes it. */
export const Empty = ({
  title,
  isPage,
  children,
  command,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly command?: string;
  readonly isPage?: true;
}) => (
  <div class="notice">
    <Title of={title} isPage={isPage} />
    <div class="quiet">{children}</div>
    {command === undefined ? null : <Command text={command} />}
  </div>
);

export const Problem = ({
  title,
  isPage,
  trouble,
}: {
  readonly trouble: ShownProblem;
  readonly title: string;
  readonly isPage?: true;
}) => (
  <div class="notice error" role="alert">
    <Title of={title} isPage={isPage} />
    <p>{trouble.detail}</p>
    <p class="quiet small">
      <code>{trouble.code}</code>
    </p>
  </div>
);

/** Above what was read before: why it is not read again. The top of the page says it if the server does not answer at all. */
export const MayBeOld = ({ trouble }: { readonly trouble: ShownProblem | null }) =>
  trouble === null || trouble.detail === UNREACHABLE.detail ? null : (
    <p class="toast bad" role="alert">
      What you see may be old: {trouble.detail} <code>{trouble.code}</code>
    </p>
  );

/** What the server would refuse to this caller, in place of its buttons. */
export const NotAllowed = ({ titles }: { readonly titles: readonly string[] }) =>
  titles.length === 0 ? null : <p class="small quiet">Your token does not allow: {titles.join(", ")}</p>;

/** The shape of what is being loaded, so that nothing moves when it arrives. */
export const Loading = ({ rows = 6 }: { readonly rows?: number }) => (
  <div class="inner" aria-busy="true" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => (
      <span key={index} class="skeleton" style={{ width: `${90 - ((index * 17) % 50)}%` }} />
    ))}
  </div>
);

/** JSON as text. What a model or a tool wrote is never HTML. */
export const ShownJson = ({ of }: { readonly of: unknown }) => (
  // A region that scrolls can be reached by keyboard.
  <pre class="json" tabIndex={0}>
    {typeof of === "string" ? visibleText(of) : jsonText(of)}
  </pre>
);
