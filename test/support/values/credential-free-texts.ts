/** Everyday texts of tools, users and models without a credential, which redaction must leave unchanged. */

const DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

export const HARMLESS: readonly (readonly [what: string, text: string])[] = [
  ["weather", '{"city":"Oslo","tempC":-3.5,"wind":{"speed":12,"dir":"NNW"},"at":"2026-03-01T12:00:00Z","ok":true}'],
  [
    "a bill of tokens",
    '{"usage":{"input_tokens":1204,"output_tokens":88,"maxTokens":4096,"token_type":"Bearer","tokens":7}}',
  ],
  [
    "a page of a list",
    '{"items":[],"nextPageToken":"CAUQAA9fk2LmQ0xY7zT1","next_token":"AQICAHh9fk2LmQ0xY7zT1","cursor":"eyJvZmZzZXQiOjEwfQ"}',
  ],
  ["numbers", "token: 42\nsecret: 7\npassword: 0\nsession: 12\napi_key: 1234\npin 123456"],
  ["rules about passwords", "password: required, password: must be at least 8 characters; Password: cannot be empty"],
  [
    "errors of a form",
    '{"errors":{"password":"is too short (minimum is 8 characters)","token":"expired","secret":"missing"}}',
  ],
  ["types", "type Login = { password: string; token?: string; secret: SecretStr; apiKey: string | null }"],
  ["a schema", 'z.object({ password: z.string().min(8), token: z.string().optional(), "api_key": "string" })'],
  [
    "a schema of JSON",
    '{"properties":{"password":{"type":"string","format":"password"},"token":{"type":"string"}},"required":["password"]}',
  ],
  [
    "code",
    "const password = process.env.DB_PASSWORD;\nconst token = await getAccessToken(session.user);\nlogin(user, password=password, secret=self.secret)\n",
  ],
  [
    "more code",
    "const { password, token } = req.body;\nif (password === confirmPassword) session.token = token;\nheaders.authorization = `Bearer ${token}`;",
  ],
  [
    "Python",
    'password = os.environ["DB_PASSWORD"]\napi_key: str = Field(default=None)\ntoken = request.headers.get("Authorization")\nsecret = secrets.token_hex(32)',
  ],
  [
    "a template",
    "password: ${DB_PASSWORD}\ntoken: {{ secrets.TOKEN }}\nsecret: <your-secret>\napi_key: $API_KEY\npwd: %PWD%\npassword: your-password-here",
  ],
  ["stars", 'password: ********\n"token": "xxxxxxxx"\nsecret = "[hidden]"'],
  ["nothing", '{"password":null,"token":"","secret":false,"session":null,"authorization":"none","cookie":{}}'],
  [
    "where a secret is kept",
    '{"password":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-x","secret":"projects/p/secrets/db/versions/3","token":"vault:secret/data/x#token"}',
  ],
  [
    "HTML",
    '<form><label for="password">Password: </label><input type="password" name="password" required minlength="8" autocomplete="current-password"><a href="/reset?next=/home">Forgot password?</a></form>',
  ],
  [
    "CSS and scripts",
    '<link rel="stylesheet" integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"><script src="/a.8f3e1c.js"></script>',
  ],
  [
    "git log",
    `commit ${DIGEST.slice(0, 40)}\nAuthor: Ada <ada@x.test>\nDate:   Sun Mar 1 12:00:00 2026 +0100\n\n    Fix the token refresh: the session is renewed before it expires\n`,
  ],
  ["a diff", "-  password: oldValue,\n+  password: newPassword,\n index 3f2504e..9a0c030 100644"],
  [
    "digests",
    `sha256:${DIGEST} md5 d41d8cd98f00b204e9800998ecf8427e etag: "33a64df551425fcc55e4d42a148795d9f25f89d4" integrity sha512-${"Ab1/".repeat(20)}==`,
  ],
  [
    "UUIDs",
    'id=3f2504e0-4f89-41d3-9a0c-0305e82c3301 request_id: 3f2504e0-4f89-41d3-9a0c-0305e82c3301 {"session_id":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}',
  ],
  [
    "runs of cairn",
    "run local-aaaaaaaaaaaaaaaaaaaaaaaaaa call c12 key local-mzxw6ytboi3dcnrugiytembrgi:c12 session: local-mzxw6ytboi3dcnrugiytembrgi",
  ],
  ["CSV", "id,name,pass,score\n1,Ada,true,12.5\n2,Bob,false,7\n"],
  [
    "results of tests",
    "pass: 120 fail: 0\nsession: morning, auth: enabled, secret sharing: off\nPASS src/token.test.ts (1.204 s)",
  ],
  [
    "prose",
    "The secret of a good session is patience. A token of thanks: the password policy was changed, and each key is kept in a vault. The password is required. My pass is valid.",
  ],
  [
    "cookies to eat",
    "Cookie: chocolate chip. Set-Cookie is a header. authorization: see section 2.1 of the manual. Authentication is basic.",
  ],
  [
    "an article about tokens",
    "A bearer token is sent as Authorization: Bearer <token>. Tokens begin with sk- or ghp_ and the secret key is what no user may see.",
  ],
  [
    "addresses",
    "https://x.test:8080/a/b?page=2&sort=-date&q=a@b.test#top http://localhost:3000/session/new mailto:ada@x.test git@github.com:ada/x.git",
  ],
  [
    "an image",
    `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ${"AAAA".repeat(40)}AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`,
  ],
  [
    "a list of files",
    "-rw-r--r-- 1 root root 1204 Mar  1 12:00 secrets.ts\nsrc/session/token-store.ts:12:5: error TS2322: Type 'string'\npackage-lock.json",
  ],
  ["a lock file", `"node_modules/x": {"version":"1.2.3","integrity":"sha512-${"hfdYra+ZB6RmviEA".repeat(5)}=="}`],
  [
    "SQL",
    "SELECT id, password_hash, token_count FROM users WHERE session_id = $1 AND secret IS NOT NULL; ALTER TABLE t ADD COLUMN password VARCHAR(255);",
  ],
  [
    "commands",
    'docker login -u ada --password-stdin; curl -u "$USER:$PASS" https://x.test; kubectl get secret db -o yaml; mysql -h db -u root -p',
  ],
  [
    "times",
    '{"tokenExpiresAt":"2026-03-01","token":"2026-03-01T12:00:00Z","passwordChanged":1772366400,"session":"2026-03-01 09:00"}',
  ],
  [
    "keys that are none",
    '{"key":"value-of-it-2024-aaaa","primary_key":"id","publicKey":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl","sort_key":"run#0001"}',
  ],
  ["numbers of versions", "v1.2.3-beta.4+build.5678 token: v2.10.3 secret: 1.0.0 apiKey: v1"],
  [
    "a journey",
    '{"flight":"LH123","seat":"12A","pnr":"X7K2Q9","card":"**** 4242","price":"EUR 120.00","pass":"boarding"}',
  ],
];
