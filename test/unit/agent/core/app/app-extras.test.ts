import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adopt } from "../../../../../src/agent/core/app/adopt.ts";
import { canonicalSpec, extrasOf, hasExtras, LABELS } from "../../../../../src/agent/core/app/container.ts";
import { toSecretsLabel } from "../../../../../src/agent/core/app/secrets.ts";
import { newApp } from "../../../../../src/agent/core/records.ts";
import { nextRepair } from "../../../../../src/agent/core/deployment/repair.ts";
import { evaluateSample } from "../../../../../src/agent/core/deployment/verify.ts";
import { type AppSpec, parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";

function spec(fields: Record<string, unknown> = {}): AppSpec {
  const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

const args = fc.array(
  fc.string({ maxLength: 20 }).filter((text) => !text.includes("\0")),
  { minLength: 1, maxLength: 4 },
);
const path = fc.constantFrom("/dev/ttyUSB0", "/dev//snd/", "/dev/i2c-1");
const extras = fc.record(
  {
    command: args,
    cpu_limit: fc.double({ min: 0.01, max: 64, noNaN: true }),
    memory_limit: fc.integer({ min: 8_000_000, max: 2 ** 40 }),
    devices: fc.array(
      fc.record(
        { local: path, target: path, permissions: fc.constantFrom("r", "rw", "wr", "rwm", "mwr") },
        { requiredKeys: ["local"] },
      ),
      { maxLength: 3 },
    ),
    healthcheck: fc.record(
      { command: args, interval_s: fc.integer({ min: 1, max: 100 }), retries: fc.integer({ min: 1, max: 9 }) },
      { requiredKeys: ["command"] },
    ),
    restart_policy: fc.constantFrom("no", "always", "on-failure", "unless-stopped"),
    health_timeout_s: fc.integer({ min: 1, max: 3600 }),
  },
  { requiredKeys: [] },
);

describe("optional fields of a specification", () => {
  it("do not change the hash of an app without them", () => {
    const plain = spec({
      name: "node-red",
      image: "example/node-red:4",
      environments: [{ key: "TZ", value: "UTC" }],
      ports: [{ host_port: 30_080, target_port: 1880 }],
      volumes: [{ local: "/data", target: "/data" }],
    });
    // Computed by the version that had none of them.
    expect(createHash("sha256").update(canonicalSpec(plain)).digest("hex")).toBe(HASH_BEFORE);
  });

  it("do not change the hash if they have their default values", () => {
    const plain = spec({ ports: [{ host_port: 30_080, target_port: 80 }] });
    const same = spec({
      ports: [{ host_port: 30_080, target_port: 80, protocol: "tcp" }],
      restart_policy: "unless-stopped",
      devices: [],
    });
    expect(canonicalSpec(same)).toBe(canonicalSpec(plain));
    expect(hasExtras(same)).toBe(false);
  });

  it("are read back from a container's label as requested", () => {
    fc.assert(
      fc.property(extras, fc.constantFrom("tcp", "udp"), (extras, protocol) => {
        const requested = spec({ ...extras, ports: [{ host_port: 30_080, target_port: 80, protocol }] });
        const found = {
          app: requested.name,
          deploymentId: "d1",
          containerId: "c1",
          image: requested.image,
          imageId: "i1",
          environment: [],
          ports: [{ hostPort: 30_080, targetPort: 80, ...(protocol === "udp" && { protocol }) }],
          volumes: [],
          hostNetwork: false,
          privileged: false,
          imageLabels: {},
        };
        // As containers of this release have it, and of those before.
        const label = { [LABELS.extras]: JSON.stringify(extrasOf(requested)) };
        for (const labels of hasExtras(requested) ? [label] : [label, {}]) {
          const adopted = adopt({ ...found, labels }, () => false);
          expect(adopted && canonicalSpec(adopted.spec)).toBe(canonicalSpec(requested));
        }
      }),
    );
  });

  it("include which variables are secret, by a label of its own", () => {
    const variable = fc.record({ key: fc.stringMatching(/^[A-Z"\\]{1,4}$/), value: fc.string(), secret: fc.boolean() });
    const environments = fc.uniqueArray(
      variable.filter(({ value }) => !value.includes("\0")),
      { selector: ({ key }) => key, maxLength: 4 },
    );
    fc.assert(
      fc.property(environments, fc.constantFrom({}, undefined), (environments, imageLabels) => {
        const requested = spec({ environments });
        const found = foundOf(requested, { [LABELS.secretVariables]: toSecretsLabel(requested) });
        const adopted = adopt(
          { ...found, imageLabels },
          (candidate) => canonicalSpec(candidate) === canonicalSpec(requested),
        );
        expect(adopted && canonicalSpec(adopted.spec)).toBe(canonicalSpec(requested));
      }),
    );
  });

  it("include where secrets are parts of values, and the label has none of them", () => {
    const value = "https://user:s3cret@db/?again=s3cret";
    const requested = spec({ environments: [{ key: "DSN", value, secret: true, secret_parts: ["s3cret", "gone"] }] });
    const label = toSecretsLabel(requested);
    expect(label).not.toContain("s3cret");
    const adopted = adopt({ ...foundOf(requested, { [LABELS.secretVariables]: label }), imageLabels: {} }, () => false);
    expect(adopted?.spec.environments).toEqual([{ key: "DSN", value, secret: true, secret_parts: ["s3cret"] }]);
  });

  it("take no secret from the label of an image, and are not adopted with a label that cannot be read", () => {
    const plain = spec({ environments: [{ key: "A", value: "1" }] });
    const fromImage = { [LABELS.secretVariables]: '["A"]' };
    const adopted = adopt({ ...foundOf(plain, fromImage), imageLabels: fromImage }, () => false);
    expect(adopted?.spec.environments).toEqual([{ key: "A", value: "1" }]);
    for (const label of ["", "{", "null", '"A"', "{}"]) {
      const found = foundOf(plain, { [LABELS.secretVariables]: label });
      expect(adopt({ ...found, imageLabels: {} }, () => false)).toBeUndefined();
    }
  });

  it("change the hash if a variable is declared secret, and not if it is declared to be none", () => {
    const texts = [{}, { secret: false }, { secret: true }].map((fields) => {
      return canonicalSpec(spec({ environments: [{ key: "A", value: "1", ...fields }] }));
    });
    expect(texts[1]).toBe(texts[0]);
    expect(texts[2]).not.toBe(texts[0]);
  });

  it("prevent adoption if their label cannot be read, since the app would run without its limits", () => {
    const found = { app: "app", deploymentId: "d1", containerId: "c1", image: "example/app:1", imageId: "i1" };
    const rest = {
      environment: [],
      ports: [],
      volumes: [],
      hostNetwork: false,
      privileged: false,
    };
    for (const extras of ["", "{", "null", '"text"', '{"memory_limit":"all"}', '{"other":1}']) {
      for (const imageLabels of [{}, undefined]) {
        const labels = { [LABELS.extras]: extras };
        expect(adopt({ ...found, ...rest, labels, imageLabels }, () => false)).toBeUndefined();
      }
    }
    expect(adopt({ ...found, ...rest, labels: {}, imageLabels: {} }, () => false)).toBeDefined();
  });
});

function foundOf({ name, image, environments }: AppSpec, labels: Readonly<Record<string, string>>) {
  return {
    app: name,
    deploymentId: "d1",
    containerId: "c1",
    image,
    imageId: "i1",
    environment: environments.map(({ key, value }) => `${key}=${value}`),
    ports: [],
    volumes: [],
    hostNetwork: false,
    privileged: false,
    labels,
  };
}

const HASH_BEFORE = "0d46b1b5d7e7dccd1d2361c6b90ba3248510800b1911f844a52dc24a0de88bfb";

const app = (restart_policy: string) =>
  newApp(spec({ restart_policy }), { deploymentId: "d1", imageId: "i1", containerId: "c1" });
const ended = (exitCode: number) =>
  ({ status: "exited", restartCount: 0, exitCode, oomKilled: false, startedAt: "then", health: "none" }) as const;
const exited = (exitCode?: number, restarts: { restartCount?: number; maxRestarts?: number } = {}) => {
  const lastRun = exitCode === undefined ? undefined : { exitCode, restartCount: 0, ...restarts };
  return [{ id: "c1", name: "app", status: "exited", lastRun } as const];
};

describe("an app that may end by itself", () => {
  const window = { settleMs: 3_000, healthTimeoutMs: 20_000 };
  const baseline = { restartCount: 0, startedAt: "then" };
  it.each([
    ["no", 0, "exited"],
    ["no", 1, "crashed"],
    ["on-failure", 0, "exited"],
    ["on-failure", 1, "crashed"],
    ["always", 0, "crashed"],
    ["unless-stopped", 0, "crashed"],
    [undefined, 0, "crashed"],
  ] as const)("with the policy %s and exit code %d has %s", (restartPolicy, exitCode, verdict) => {
    expect(evaluateSample(ended(exitCode), baseline, 100, { ...window, restartPolicy })).toBe(verdict);
  });

  it("has crashed if it was restarted in between, whatever its exit code", () => {
    const again = { ...ended(0), startedAt: "later" };
    expect(evaluateSample(again, baseline, 100, { ...window, restartPolicy: "on-failure" })).toBe("crashed");
  });

  it("is not started again after it has ended successfully", () => {
    expect(nextRepair(app("no"), exited(3))).toBeUndefined();
    expect(nextRepair(app("no"), [])).toBeUndefined();
    expect(nextRepair(app("on-failure"), exited(0))).toBeUndefined();
  });

  it("is not started again once its engine has restarted it as often as it may", () => {
    expect(nextRepair(app("on-failure"), exited(1, { restartCount: 3, maxRestarts: 3 }))).toBeUndefined();
    // It was interrupted before.
    expect(nextRepair(app("on-failure"), exited(137, { restartCount: 2, maxRestarts: 3 }))?.step.kind).toBe("start");
    expect(nextRepair(app("on-failure"), exited(1, { restartCount: 99 }))?.step.kind).toBe("start");
  });

  it("is started again if it was interrupted, or never ran", () => {
    expect(nextRepair(app("on-failure"), exited(137))?.step.kind).toBe("start");
    expect(nextRepair(app("on-failure"), exited())?.step.kind).toBe("start");
    expect(nextRepair(app("no"), [{ id: "c1", name: "app", status: "created" }])?.step.kind).toBe("start");
    expect(nextRepair(app("always"), exited(0))?.step.kind).toBe("start");
  });
});
