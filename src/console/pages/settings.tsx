/** Settings of this browser: the theme, and the access token of this tab. */
import { base, signInWith, token } from "../api/http.ts";
import { THEMES, theme } from "../store/theme.ts";

export const Settings = () => (
  <section class="page scrolls" aria-label="Settings">
    <div class="inner">
      <h1>Settings</h1>
      <div class="sheet card">
        <h2>Theme</h2>
        <div class="groups" role="group" aria-label="Theme">
          {THEMES.map((each) => (
            <button key={each} type="button" aria-pressed={theme.value === each} onClick={() => (theme.value = each)}>
              {{ system: "As the system", light: "Light", dark: "Dark" }[each]}
            </button>
          ))}
        </div>
      </div>
      <div class="sheet card">
        <h2>Access</h2>
        {token === null ? (
          <p class="quiet">You are not signed in. The server asks for one where it needs one.</p>
        ) : (
          <div class="line">
            <p class="grow">You are signed in with a token. It is kept in this tab until you close it.</p>
            <button type="button" onClick={() => signInWith(null)}>
              Sign out
            </button>
          </div>
        )}
      </div>
      <div class="sheet card">
        <h2>API</h2>
        <p>
          This console shows what the HTTP API at <code>{base()}</code> answers.{" "}
          <a href="./openapi.json">Its reference</a>
        </p>
      </div>
    </div>
  </section>
);
