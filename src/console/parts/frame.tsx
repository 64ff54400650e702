/** What surrounds every page: the rail, the state of the connection, and the map of keys. */
import type { ComponentChildren } from "preact";
import { signInNeeded, signInWith } from "../api/http.ts";
import { duration } from "../../render/words.ts";
import { needsCount } from "../store/needs.ts";
import { now } from "../store/clock.ts";
import { answeredAt, connection, stale } from "../store/poll.ts";
import { hrefOf, route } from "../store/route.ts";
import { When, Command } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";
import { Icon, type IconName, Mark } from "./icons.tsx";
import { KEYS, keyMapShown, paletteShown } from "./keys.ts";
import { Palette } from "./palette.tsx";

const PAGES: readonly (readonly [path: string, word: string, icon: IconName])[] = [
  ["runs", "Runs", "runs"],
  ["needs", "Needs me", "inbox"],
  ["schedules", "Schedules", "schedules"],
  ["agents", "Agents", "agents"],
  ["health", "Health", "health"],
  ["settings", "Settings", "settings"],
];

export const Frame = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="frame">
    <header class="top">
      <a class="brand" href={hrefOf(["runs"])} aria-label="cairn, to the runs">
        <Mark />
        <span>cairn</span>
      </a>
      <div class="space" />
      <button type="button" class="find" onClick={() => (paletteShown.value = true)}>
        <Icon name="search" />
        <span>Find</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <Live />
    </header>
    <nav class="rail" aria-label="Pages">
      {PAGES.map(([path, word, icon]) => (
        <a key={path} href={hrefOf([path])} aria-current={isHere(path) ? "page" : undefined}>
          <Icon name={icon} size={18} />
          {word}
          {path === "needs" && needsCount.value > 0 ? (
            <span class="badge" aria-label={`${needsCount.value} open`}>
              {needsCount.value}
            </span>
          ) : null}
        </a>
      ))}
      <p class="foot small quiet">
        <kbd>?</kbd> keys
      </p>
    </nav>
    <main class={`main ${stale.value ? "stale" : ""}`} tabIndex={-1}>
      {stale.value ? (
        <p class="banner" role="status">
          What you see is from <When at={answeredAt.value ?? now.value} />: the server does not answer. It is asked
          again.
        </p>
      ) : null}
      {children}
    </main>
    {signInNeeded.value === null ? null : <SignIn why={signInNeeded.value} />}
    {keyMapShown.value ? <KeyMap /> : null}
    {paletteShown.value ? <Palette /> : null}
  </div>
);

const isHere = (path: string): boolean => {
  const [first] = route.value.path;
  return first === path || (path === "runs" && first === "run");
};

function Live() {
  const state = connection.value;
  const words = {
    live: "live",
    paused: "paused",
    reconnecting: state.kind === "reconnecting" ? `reconnecting for ${duration(now.value - state.since)}` : "",
  }[state.kind];
  return (
    <span class={`live ${state.kind}`} role="status">
      <i />
      {words}
    </span>
  );
}

const KeyMap = () => (
  <Dialog label="Keys" onClose={() => (keyMapShown.value = false)}>
    <div class="body">
      <h2>Keys</h2>
      <dl class="facts">
        {KEYS.flatMap(([keys, does]) => [
          <dt key={does}>{keys.map((key, index) => [index > 0 ? " " : "", <kbd key={key}>{key}</kbd>])}</dt>,
          <dd key={`${does} text`}>{does}</dd>,
        ])}
      </dl>
      <div class="foot">
        <button type="button" onClick={() => (keyMapShown.value = false)}>
          Close
        </button>
      </div>
    </div>
  </Dialog>
);

/** Asks for an access token where the server wants one. The token stays in this tab and goes only into headers. */
function SignIn({ why }: { readonly why: string }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get("token");
    if (typeof given === "string" && given.trim() !== "") signInWith(given.trim());
  };
  return (
    <Dialog label="Sign in">
      <form onSubmit={submit}>
        <h2>Sign in with an access token</h2>
        <p class="quiet">{why}</p>
        <label class="field">
          <span>Access token</span>
          <input name="token" type="password" autocomplete="off" spellcheck={false} autofocus required />
        </label>
        <p class="quiet small">
          It is kept in this tab until you close it. It may be a signed token (JWT) if the server takes these; an
          administrator makes another one with:
        </p>
        <Command text="npx cairn token create --tenant local --scopes runs:read,runs:write,approve --expires 30d" />
        <div class="foot">
          <button type="submit" class="primary">
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
