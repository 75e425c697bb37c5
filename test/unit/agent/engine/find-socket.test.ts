import { expect, test } from "vitest";
import { createSocketFinder } from "../../../../src/agent/engine/find-socket.ts";

const among =
  (...sockets: readonly string[]) =>
  (path: string): boolean =>
    sockets.includes(path);

test("a configured path is used even if it does not exist yet", () => {
  const isSocket = among("/run/docker.sock");
  const environment = { DOCKER_HOST: "unix:///other.sock" };
  expect(createSocketFinder({ configured: "/mine.sock", environment, isSocket })()).toBe("/mine.sock");
});

test("DOCKER_HOST is used if it names a socket", () => {
  const isSocket = among("/run/docker.sock");
  const find = (DOCKER_HOST: string): string => createSocketFinder({ environment: { DOCKER_HOST }, isSocket })();
  expect(find("unix:///other.sock")).toBe("/other.sock");
  expect(find("tcp://10.0.0.1:2375")).toBe("/run/docker.sock");
  expect(find("unix://")).toBe("/run/docker.sock");
});

test("the default paths are tried in order", () => {
  const environment = { XDG_RUNTIME_DIR: "/run/user/1000" };
  const places = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/user/1000/podman/podman.sock",
  ];
  for (let first = 0; first < places.length; first++) {
    const isSocket = among(...places.slice(first));
    expect(createSocketFinder({ environment, isSocket })()).toBe(places[first]);
  }
});

test("an engine that appears later is found, and kept while it restarts", () => {
  const sockets = new Set<string>();
  const find = createSocketFinder({ environment: {}, isSocket: (path) => sockets.has(path) });
  expect(find).toThrow(expect.objectContaining({ kind: "unavailable" }));
  sockets.add("/var/run/docker.sock");
  expect(find()).toBe("/var/run/docker.sock");
  sockets.clear();
  sockets.add("/run/podman/podman.sock");
  expect(find()).toBe("/var/run/docker.sock");
});

test("a directory that is closed to the agent is named, as Podman's is, and not that there is no engine", () => {
  const isHidden = among("/run/podman/podman.sock");
  const find = createSocketFinder({ environment: {}, isSocket: () => false, isHidden });
  expect(find).toThrow(
    expect.objectContaining({
      kind: "unavailable",
      message: expect.stringMatching(/no permission to look for its socket at \/run\/podman\/podman\.sock/) as string,
      cause: expect.objectContaining({ code: "EACCES", address: "/run/podman/podman.sock" }) as Error,
    }),
  );
  expect(createSocketFinder({ environment: {}, isSocket: among("/run/docker.sock"), isHidden })()).toBe(
    "/run/docker.sock",
  );
});
