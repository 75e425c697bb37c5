import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { issueCode } from "../../../src/control-plane/assets/enrolment-codes.ts";
import { ENDPOINT_ACTIONS } from "../../../src/control-plane/core/people/endpoint-actions.ts";
import { AUDIT_ACTIONS } from "../../../src/control-plane/core/people/audit-actions.ts";
import { hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { auditRowsOf, call, type Reply } from "../../support/control-plane/audit-rows.ts";
import { groupAlert, openAlert } from "../../support/alerts/open-alert.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { waitFor } from "../../support/wait-for.ts";

const LEGACY = {
  config: { legacy_removal_at: "2099-01-01T00:00:00Z", alert_channels: { allow_private: ["127.0.0.1"] } },
};
const OWN_PAGE = { "Sec-Fetch-Site": "same-origin" };

let number = 0;
/** A text that is found wherever it gets to. */
const plant = (what: string): string => `Planted-${what}-${++number}-zQ7w`;

test("each operation of the document that changes something writes an entry for each change, and no entry or log line has a secret", async () => {
  const log = captureLogText();
  const control = await startControlPlane({ ...LEGACY, logger: log.logger });
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  const admin = await control.session(account);
  const cookie = { cookie: admin.cookie, ...OWN_PAGE };
  const key = { "X-API-Key": account.apiKey };
  const secrets = [account.apiKey, admin.cookie.split("=")[1]!];
  const secret = (what: string): string => {
    secrets.push(plant(what));
    return secrets.at(-1)!;
  };
  const newAsset = () => control.asset(account, { supersim: someSuperSim({ status: "active" }) });
  const password = secret("password");
  const email = "ada@example.com";
  const app = () => ({
    name: "web",
    image: "registry.example.com/web:1",
    environments: [{ key: "TOKEN", value: secret("environment") }],
  });
  const apps = async () => `/v1/assets/${(await newAsset()).uuid}/edge/apps`;
  const registryAuth = () => ({ registry_auth: { username: "ci", password: secret("registry") } });
  let userId = "";
  let invitation = "";
  let keyId = "";
  let login: Record<string, string> = {};
  let session = "";
  const codeOfLink = (link: unknown): string => {
    secrets.push(String(link).split("code=")[1]!);
    return secrets.at(-1)!;
  };
  const sessionCookieOf = ({ headers }: Reply): string => {
    const found = headers.getSetCookie().find((each) => each.startsWith("edge_session="));
    secrets.push(found!.split(/[=;]/)[1]!);
    return found!.split(";")[0]!;
  };

  // Its one member is held, so that its rollouts go on until somebody ends them.
  const member = await newAsset();
  const path = (what: string): string => `/v1/assets/${member.uuid}/${what}`;
  const send = (method: string, to: string, body?: unknown) => call(control, method, to, key, body);
  const revision = () => ({
    apps: [
      {
        app: {
          name: "web",
          image: `registry.example.com/web@sha256:${"a".repeat(64)}`,
          environments: [{ key: "TOKEN", value: secret("fleet-environment") }],
        },
      },
    ],
  });
  const newRollout = async (body: unknown = {}): Promise<string> =>
    `/v1/fleets/kiosks/rollouts/${String((await send("POST", "/v1/fleets/kiosks/rollouts", body)).body["id"])}`;

  const newSilence = () =>
    send("POST", "/v1/silences", { reason: "Works", until: Math.floor(Date.now() / 1000) + 3_600 });

  /** In this order: some use what earlier ones made. */
  const operations: Record<string, () => Promise<Reply>> = {
    "POST /v1/enrolments": async () => {
      const services = { store: control.store, clock: systemClock };
      const { code } = await issueCode(services, (await newAsset()).uuid, { validS: 600, mayReplace: false });
      secrets.push(code);
      const reply = await call(control, "POST", "/v1/enrolments", {}, { code, nonce: "q83vASNFZ4mrze8BI0VniQ" });
      secrets.push(String(reply.body["device_token"]));
      return reply;
    },
    "POST /v1/assets": async () => {
      const reply = await call(control, "POST", "/v1/assets", key, { serial_number: "SN-1", type: "gateway" });
      secrets.push(String(reply.body["device_token"]));
      return reply;
    },
    "POST /v1/bulk/assets": async () => {
      const reply = await call(control, "POST", "/v1/bulk/assets", key, { assets: [{ serial_number: "SN-B" }] });
      secrets.push((reply.body as { results: { device_token: string }[] }).results[0]?.device_token ?? "");
      return reply;
    },
    "POST /v1/bulk/tags": async () =>
      call(control, "POST", "/v1/bulk/tags", key, {
        assets: [{ asset_id: (await newAsset()).uuid, tags: { role: "kiosk" } }],
      }),
    "PATCH /v1/assets/:asset_id": async () =>
      call(control, "PATCH", `/v1/assets/${(await newAsset()).uuid}`, key, {
        name: "Pump",
        status: "inactive",
        supersim: { network_group: "default_10gb" },
      }),
    "DELETE /v1/assets/:asset_id": async () => call(control, "DELETE", `/v1/assets/${(await newAsset()).uuid}`, key),
    "PATCH /assets/:asset_id/sim": async () =>
      call(control, "PATCH", `/assets/${(await newAsset()).uuid}/sim`, key, { status: "inactive" }),
    "PATCH /v1/assets/:asset_id/sim": async () =>
      call(control, "PATCH", `/v1/assets/${(await newAsset()).uuid}/sim`, key, { status: "inactive" }),
    "POST /v1/assets/:asset_id/enrolment-codes": async () => {
      const reply = await call(control, "POST", `/v1/assets/${(await newAsset()).uuid}/enrolment-codes`, key, {});
      secrets.push(String(reply.body["code"]), String(reply.body["code"]).replace("-", ""));
      return reply;
    },
    "POST /v1/assets/:asset_id/accept": async () => {
      const { body } = await call(control, "POST", "/v1/assets", key, { serial_number: "SN-2" });
      secrets.push(String(body["device_token"]));
      return call(control, "POST", `/v1/assets/${String(body["uuid"])}/accept`, key);
    },
    "PATCH /v1/agent-settings": () => send("PATCH", "/v1/agent-settings", { operators_update: true }),
    "PATCH /v1/enrolment-settings": async () => {
      await send("PATCH", "/v1/enrolment-settings", { auto_accept: true });
      return send("PATCH", "/v1/enrolment-settings", { auto_accept: false });
    },
    "POST /v1/assets/:asset_id/edge/apps": async () =>
      call(control, "POST", await apps(), key, { ...app(), ...registryAuth() }),
    "POST /v1/assets/:asset_id/edge/apply": async () =>
      call(control, "POST", `/v1/assets/${(await newAsset()).uuid}/edge/apply`, key, {
        project: "site",
        apps: [{ app: app() }],
        ...registryAuth(),
      }),
    "POST /v1/assets/:asset_id/edge/agent": async () =>
      call(control, "POST", `/v1/assets/${(await newAsset()).uuid}/edge/agent`, key, {
        image: "registry.example.com/team/edge-agent:1.5.0",
        ...registryAuth(),
      }),
    "PATCH /v1/assets/:asset_id/edge/apps/:name": async () =>
      call(control, "PATCH", `${await apps()}/web`, key, {
        image: "registry.example.com/web:2",
        environments: app().environments,
        ...registryAuth(),
      }),
    "DELETE /v1/assets/:asset_id/edge/apps/:name": async () => call(control, "DELETE", `${await apps()}/web`, key),
    "POST /v1/assets/:asset_id/edge/apps/:name/start": async () =>
      call(control, "POST", `${await apps()}/web/start`, key),
    "POST /v1/assets/:asset_id/edge/apps/:name/stop": async () =>
      call(control, "POST", `${await apps()}/web/stop`, key),
    "POST /v1/assets/:asset_id/edge/apps/:name/restart": async () =>
      call(control, "POST", `${await apps()}/web/restart`, key),
    "DELETE /v1/assets/:asset_id/edge/deployments/:deployment_id": async () => {
      const { uuid } = await newAsset();
      const waiting = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
        method: "POST",
        headers: { ...key, "Content-Type": "application/json" },
        body: JSON.stringify({ ...app(), wait_for_device_s: 600 }),
      });
      const id = waiting.headers.get("deployment-id");
      const reply = await call(control, "DELETE", `/v1/assets/${uuid}/edge/deployments/${id}`, key);
      await waiting.text();
      return reply;
    },
    "DELETE /v1/assets/:asset_id/edge/volumes/:name": async () => {
      const { uuid, deviceToken } = await newAsset();
      secrets.push(deviceToken);
      await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
      const removal = call(control, "DELETE", `/v1/assets/${uuid}/edge/volumes/data`, key);
      const { query_id } = await device.next("query");
      device.answer(query_id, { name: "data" });
      return removal;
    },
    "POST /v1/setup": async () => {
      const code = secret("setup");
      const record = { purpose: "setup", userId: undefined, createdAt: 1, expiresAt: 9e9, usedAt: undefined } as const;
      await control.store.users.issueCode({ ...record, accountId: account.accountId }, hashSecret(code), undefined);
      return call(control, "POST", "/v1/setup", {}, { code, email, password });
    },
    "POST /v1/session": async () => {
      const reply = await call(control, "POST", "/v1/session", {}, { email, password });
      session = sessionCookieOf(reply);
      return reply;
    },
    "PUT /v1/session/password": async () => {
      const body = { current_password: password, password: secret("new-password") };
      const reply = await call(control, "PUT", "/v1/session/password", { cookie: session, ...OWN_PAGE }, body);
      session = sessionCookieOf(reply);
      return reply;
    },
    "DELETE /v1/session": async () => call(control, "DELETE", "/v1/session", { cookie: session, ...OWN_PAGE }),
    "POST /v1/users": async () => {
      const reply = await call(control, "POST", "/v1/users", cookie, { email: "jo@example.com", role: "installer" });
      userId = (reply.body["user"] as { id: string }).id;
      invitation = codeOfLink((reply.body["invitation"] as { link: string }).link);
      return reply;
    },
    "POST /v1/invitations": async () => {
      const body = { code: invitation, password: secret("invited-password") };
      const reply = await call(control, "POST", "/v1/invitations", {}, body);
      sessionCookieOf(reply);
      return reply;
    },
    "PATCH /v1/users/:user_id": async () => call(control, "PATCH", `/v1/users/${userId}`, cookie, { role: "operator" }),
    "POST /v1/users/:user_id/reset": async () => {
      const reply = await call(control, "POST", `/v1/users/${userId}/reset`, cookie);
      codeOfLink((reply.body["reset"] as { link: string }).link);
      return reply;
    },
    "DELETE /v1/users/:user_id": async () => call(control, "DELETE", `/v1/users/${userId}`, cookie),
    "POST /v1/api-keys": async () => {
      const reply = await call(control, "POST", "/v1/api-keys", cookie, { name: "CI" });
      keyId = (reply.body["key"] as { id: string }).id;
      secrets.push(String(reply.body["api_key"]));
      return reply;
    },
    "PATCH /v1/api-keys/:key_id": async () => call(control, "PATCH", `/v1/api-keys/${keyId}`, cookie, { name: "CD" }),
    "DELETE /v1/api-keys/:key_id": async () => call(control, "DELETE", `/v1/api-keys/${keyId}`, cookie),
    "POST /v1/assets/:asset_id/sims/:sim_type/refresh": async () => {
      const { uuid } = await newAsset();
      return call(control, "POST", `/v1/assets/${uuid}/sims/supersim/refresh`, key);
    },
    "POST /v1/device-logins": async () => {
      const reply = await call(control, "POST", "/v1/device-logins", {}, { client_name: "edgectl on test" });
      login = reply.body as Record<string, string>;
      secrets.push(login["device_code"]!, login["user_code"]!);
      return reply;
    },
    "POST /v1/device-logins/:user_code": async () =>
      call(control, "POST", `/v1/device-logins/${login["user_code"]}`, cookie, { decision: "approve", role: "viewer" }),
    "POST /v1/device-logins/token": async () => {
      const reply = await call(control, "POST", "/v1/device-logins/token", {}, { device_code: login["device_code"] });
      secrets.push(String(reply.body["api_key"]));
      return reply;
    },
    "PUT /v1/assets/:asset_id/sims/:sim_type/allowance": () =>
      send("PUT", path("sims/supersim/allowance"), { bytes: 5 }),
    "DELETE /v1/assets/:asset_id/sims/:sim_type/allowance": () => send("DELETE", path("sims/supersim/allowance")),
    "PATCH /v1/data-plan-settings": () => send("PATCH", "/v1/data-plan-settings", { deployments: "wait" }),
    "PUT /v1/assets/:asset_id/tags": () => send("PUT", path("tags"), { role: "kiosk" }),
    "PATCH /v1/assets/:asset_id/tags": () => send("PATCH", path("tags"), { region: "north" }),
    "PUT /v1/assets/:asset_id/hold": () => send("PUT", path("hold"), { reason: "Pump test" }),
    "PUT /v1/assets/:asset_id/variables": () =>
      send("PUT", path("variables"), { TOKEN: { value: secret("variable"), secret: true } }),
    "PATCH /v1/assets/:asset_id/variables": () =>
      send("PATCH", path("variables"), { SITE: { value: secret("other-variable") } }),
    "POST /v1/fleets": () =>
      send("POST", "/v1/fleets", {
        name: "kiosks",
        selector: "role=kiosk",
        apps: ["web"],
        strategy: { waves: [{ limit: 1, advance: "manual" }] },
      }),
    "POST /v1/fleets/:fleet/revisions": () => send("POST", "/v1/fleets/kiosks/revisions", revision()),
    "POST /v1/fleets/:fleet/rollouts": () => send("POST", "/v1/fleets/kiosks/rollouts", {}),
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/pause": async () => send("POST", `${await newRollout()}/pause`),
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/resume": async () => {
      const rollout = await newRollout();
      await send("POST", `${rollout}/pause`);
      return send("POST", `${rollout}/resume`);
    },
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/advance": async () => send("POST", `${await newRollout()}/advance`),
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/approve": async () => {
      const rollout = await newRollout({ strategy: { requires_approval: true } });
      // Somebody else than who has made it.
      return call(control, "POST", `${rollout}/approve`, cookie);
    },
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/cancel": async () => send("POST", `${await newRollout()}/cancel`),
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/rollback": async () => send("POST", `${await newRollout()}/rollback`),
    "POST /v1/fleets/:fleet/rollouts/:rollout_id/retry": async () => {
      const rollout = await newRollout();
      await send("POST", `${rollout}/cancel`);
      const id = rollout.split("/").at(-1) ?? "";
      const { rollouts } = control.store;
      await waitFor("its end", async () => (await rollouts.findRollout(id))?.isActive === false);
      const [before] = await rollouts.listTargets(id, 1);
      const epoch = (await rollouts.findRollout(id))?.epoch ?? 0;
      // As if it had failed there.
      if (before)
        await rollouts.changeTargets({ rolloutId: id, epoch }, [{ before, after: { ...before, state: "failed" } }]);
      return send("POST", `${rollout}/retry`);
    },
    "PATCH /v1/fleets/:fleet": () => send("PATCH", "/v1/fleets/kiosks", { selector: "role=none" }),
    "POST /v1/fleets/:fleet/reapply": async () => {
      // It has no members any more.
      const rollout = await newRollout();
      await waitFor("its end", async () => (await send("GET", rollout)).body["state"] === "succeeded");
      return send("POST", "/v1/fleets/kiosks/reapply", {});
    },
    "PUT /v1/alert-settings": async () => {
      const url = `https://127.0.0.1:9/${secret("webhook")}`;
      const channels = { ops: { kind: "webhook", url } };
      const reply = await send("PUT", "/v1/alert-settings", { rules: [], routes: {}, channels });
      secrets.push(...Object.values(reply.body["new_secrets"] as Record<string, string>));
      return reply;
    },
    "POST /v1/alert-channels/:name/test": () => send("POST", "/v1/alert-channels/ops/test"),
    "POST /v1/alerts/:alert_id/acknowledge": async () =>
      send("POST", `/v1/alerts/${await openAlert(control, account)}/acknowledge`),
    "POST /v1/alert-groups/:group_id/acknowledge": async () => {
      const group = await groupAlert(control, account, await openAlert(control, account));
      return send("POST", `/v1/alert-groups/${group}/acknowledge`);
    },
    "PUT /v1/uploads/:sha256/pieces/:number": () => {
      const sha256 = createHash("sha256").update("abc").digest("hex");
      return send("PUT", `/v1/uploads/${sha256}/pieces/0`, { bytes: 3, content_base64: "YWJj" });
    },
    "POST /v1/silences": newSilence,
    "DELETE /v1/silences/:silence_id": async () =>
      send("DELETE", `/v1/silences/${String((await newSilence()).body["id"])}`),
    "DELETE /v1/fleets/:fleet": () => send("DELETE", "/v1/fleets/kiosks"),
    "DELETE /v1/assets/:asset_id/hold": () => send("DELETE", path("hold")),
    "DELETE /v1/assets/:asset_id/variables": () => send("DELETE", path("variables")),
    "DELETE /v1/assets/:asset_id/tags": () => send("DELETE", path("tags")),
  };
  const rollouts = "POST /v1/fleets/:fleet/rollouts/:rollout_id";
  /** What the operation needs before it. */
  const first: Record<string, readonly string[]> = {
    "PATCH /v1/enrolment-settings": ["settings.changed"],
    [`${rollouts}/pause`]: ["rollout.created"],
    [`${rollouts}/resume`]: ["rollout.created", "rollout.paused"],
    [`${rollouts}/advance`]: ["rollout.created"],
    [`${rollouts}/approve`]: ["rollout.created"],
    [`${rollouts}/cancel`]: ["rollout.created"],
    [`${rollouts}/rollback`]: ["rollout.created"],
    [`${rollouts}/retry`]: ["rollout.created", "rollout.cancelled"],
    "POST /v1/fleets/:fleet/reapply": ["rollout.created"],
    "POST /v1/assets/:asset_id/accept": ["asset.registered"],
    "DELETE /v1/silences/:silence_id": ["silence.created"],
    "DELETE /v1/assets/:asset_id/edge/deployments/:deployment_id": ["deployment.requested"],
  };
  /** Where a person is signed in by the way, or several changes are made. */
  const further: Record<string, readonly string[]> = {
    // Each of its three changes is stored, and told, by itself.
    "PATCH /v1/assets/:asset_id": ["asset.changed", "asset.changed"],
    "POST /v1/setup": ["session.opened"],
    "POST /v1/invitations": ["session.opened"],
    "PUT /v1/session/password": ["session.opened"],
  };

  const document = await readDocument(control.url);
  const changing = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== "get")
      .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  );
  expect(Object.keys(operations).toSorted()).toEqual(changing.toSorted());

  for (const [name, run] of Object.entries(operations)) {
    const before = auditRowsOf(control).length;
    const reply = await run();
    expect(reply.status, `${name}: ${JSON.stringify(reply.body)}`).toBeLessThan(300);
    const entries = auditRowsOf(control).slice(before);
    const action = ENDPOINT_ACTIONS[name];
    const expected = action === undefined ? [] : [...(first[name] ?? []), action, ...(further[name] ?? [])];
    expect(
      entries.map((entry) => entry.action),
      name,
    ).toEqual(expected);
    expect(
      entries.every(({ outcome, source }) => outcome === "ok" && source === "127.0.0.1"),
      name,
    ).toBe(true);
    const kinds = name === "POST /v1/enrolments" ? ["device"] : ["key", "user"];
    for (const { actor_kind } of entries) expect(kinds, name).toContain(actor_kind);
  }

  const stored = JSON.stringify(auditRowsOf(control));
  const logged = log.text();
  expect(secrets.length).toBeGreaterThan(20);
  for (const each of secrets) {
    expect(each.length).toBeGreaterThan(6);
    expect(stored).not.toContain(each);
    expect(logged).not.toContain(each);
  }
  const actions = new Set(auditRowsOf(control).map(({ action }) => action));
  for (const action of actions) expect(Object.keys(AUDIT_ACTIONS)).toContain(action);
});
