import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import { describe, expect, test } from "vitest";
import { configuredPorts, toState, toSummary } from "../../../../src/agent/engine/docker/container-mapping.ts";

const listed = (entry: object): ContainerInfo =>
  ({ Id: "1", Names: ["/app"], State: "running", ...entry }) as ContainerInfo;

describe("an entry of the list", () => {
  test.each([
    ["created", "created"],
    ["running", "running"],
    ["paused", "paused"],
    ["restarting", "restarting"],
    ["removing", "removing"],
    ["exited", "exited"],
    ["dead", "dead"],
    ["configured", "created"],
    ["initialized", "created"],
    ["stopping", "running"],
    ["stopped", "exited"],
    ["Running", "running"],
    ["some news", "unknown"],
    ["constructor", "unknown"],
  ])("in the engine's state %s is %s", (State, status) => {
    expect(toSummary(listed({ State })).status).toBe(status);
  });

  test("has each host port once, and none that is not published", () => {
    const Ports = [
      { IP: "0.0.0.0", PrivatePort: 80, PublicPort: 30080, Type: "tcp" },
      { IP: "::", PrivatePort: 80, PublicPort: 30080, Type: "tcp" },
      { PrivatePort: 443, Type: "tcp" },
      { PrivatePort: 53, PublicPort: 30053, Type: "udp" },
    ];
    expect(toSummary(listed({ Ports })).hostPorts).toEqual([
      { port: 30080, protocol: "tcp" },
      { port: 30053, protocol: "udp" },
    ]);
    expect(toSummary(listed({ Ports, State: "exited" })).hostPorts).toEqual([]);
    expect(toSummary(listed({ Ports: null })).hostPorts).toEqual([]);
  });

  test("without a required field is an error", () => {
    expect(() => toSummary({} as ContainerInfo)).toThrow(expect.objectContaining({ kind: "unknown" }));
  });
});

function inspected(state: object, config: object = {}): ContainerInspectInfo {
  const State = { Status: "running", ExitCode: 0, OOMKilled: false, StartedAt: "2026-01-01T00:00:00Z", ...state };
  return {
    Id: "1",
    Name: "/app",
    State,
    Config: { Labels: null, ...config },
    HostConfig: {},
  } as unknown as ContainerInspectInfo;
}

const checked = { Healthcheck: { Test: ["CMD", "true"] } };

describe("an inspected container", () => {
  test.each([
    ["without a check", inspected({}), "none", ""],
    ["without a check, in Podman's words", inspected({ Health: { Status: "", Log: null } }), "none", ""],
    ["with its check taken away", inspected({}, { Healthcheck: { Test: ["NONE"] } }), "none", ""],
    ["with a check, before its first run", inspected({ Status: "created" }, checked), "starting", ""],
    ["with Podman's empty status", inspected({ Health: { Status: "", Log: null } }, checked), "starting", ""],
    ["healthy", inspected({ Health: { Status: "healthy", Log: [{ Output: "fine\n" }] } }, checked), "healthy", "fine"],
    [
      "unhealthy, under Podman's older name",
      inspected({ Healthcheck: { Status: "unhealthy", Log: [{ Output: "" }, { Output: "no" }] } }, checked),
      "unhealthy",
      "no",
    ],
  ])("%s", (_what, info, health, healthOutput) => expect(toState(info)).toMatchObject({ health, healthOutput }));

  test("has the times of its health check, the engine's defaults where it says nothing", () => {
    const Healthcheck = { Test: ["CMD", "check"], StartPeriod: 300e9, Interval: 5e9, Timeout: 2e9, Retries: 7 };
    expect(toState(inspected({}, { Healthcheck })).healthcheck).toEqual({
      startPeriodMs: 300_000,
      intervalMs: 5_000,
      timeoutMs: 2_000,
      retries: 7,
    });
    for (const more of [{}, { StartPeriod: 0, Interval: 0, Timeout: 0, Retries: 0 }]) {
      const unsaid = { Healthcheck: { Test: ["CMD", "check"], ...more } };
      expect(toState(inspected({}, unsaid)).healthcheck).toEqual({
        startPeriodMs: 0,
        intervalMs: 30_000,
        timeoutMs: 30_000,
        retries: 3,
      });
    }
    expect(toState(inspected({})).healthcheck).toBeUndefined();
    expect(toState(inspected({}, { Healthcheck: { Test: ["NONE"], Interval: 5e9 } })).healthcheck).toBeUndefined();
  });

  test("has no labels and no restarts if the engine reports none", () => {
    expect(toState(inspected({}))).toMatchObject({ name: "app", labels: {}, restartCount: 0, exitCode: 0 });
  });

  test("has configured ports, whether it holds them or not", () => {
    const PortBindings = {
      "80/tcp": [{ HostPort: "30080" }, { HostPort: "30080" }],
      "443/tcp": null,
      "1/tcp": [{}],
      "80/udp": [{ HostPort: "30080" }],
    };
    const info = { ...inspected({}), HostConfig: { PortBindings } } as ContainerInspectInfo;
    expect(configuredPorts(info)).toEqual([
      { port: 30080, protocol: "tcp" },
      { port: 30080, protocol: "udp" },
    ]);
  });
});
