import { expect, it } from "vitest";
import { newApp } from "../../../../src/agent/core/deployment/record.ts";
import { reportUndeclaredSecrets } from "../../../../src/agent/daemon/report-undeclared-secrets.ts";
import { parseAppSpec } from "../../../../src/protocol/app-spec.ts";
import { captureLogText } from "../../../support/captured-log.ts";

function app(name: string, environments: readonly object[]) {
  const parsed = parseAppSpec({ name, image: "example/app:1", environments });
  if (!parsed.ok) throw parsed.error;
  return newApp(parsed.spec, { deploymentId: "d1", imageId: "i1", containerId: "c1" });
}

it("apps of earlier releases with undeclared secrets are named in the log, without a value", () => {
  const log = captureLogText();
  const apps = [
    app("old", [{ key: "DB_PASSWORD", value: "planted" }]),
    app("declared", [{ key: "DB_PASSWORD", value: "planted", secret: true }]),
    app("plain", [{ key: "TZ", value: "planted" }]),
  ];
  reportUndeclaredSecrets(apps, log.logger);
  const lines = log.text().trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { app: "old", variables: "DB_PASSWORD", msg: expect.stringContaining("--secret-env") },
  ]);
  expect(log.text()).not.toContain("planted");
});

it("their number is bounded, and the rest counted", () => {
  const log = captureLogText();
  const apps = Array.from({ length: 13 }, (_, n) => app(`app${n}`, [{ key: "TOKEN", value: "planted" }]));
  reportUndeclaredSecrets(apps, log.logger);
  const lines = log.text().trim().split("\n");
  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toContain('"count":3');
});
