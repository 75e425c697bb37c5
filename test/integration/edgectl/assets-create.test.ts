import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, startScriptedService } from "../../support/edgectl/scripted-service.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const CSV = `serial_number,name,tags
GW-0001,"Kiosk 1, north",role=kiosk region=north
GW-0002,=SUM(A1),role=kiosk
GW-0003,,role=sign
`;
const CODE = /\b[0-9A-Z]{5}-[0-9A-Z]{5}\b/;

async function setUp() {
  await using owner = new AsyncDisposableStack();
  const control = owner.use(await startControlPlane());
  const user = owner.use(await edgectlUser());
  const account = await control.account();
  const owned = owner.move();
  const pathOf = (name: string): string => join(user.configDirectory, name);
  return {
    control,
    account,
    pathOf,
    async file(name: string, content: string) {
      await writeFile(pathOf(name), content);
      return pathOf(name);
    },
    run: (args: readonly string[], { apiKey }: Pick<TestAccount, "apiKey"> = account, input?: string) => {
      const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: apiKey };
      return user.run(["assets", ...args], { env, ...(input !== undefined && { input }) });
    },
    /** The serial numbers of the account's assets. */
    async serialNumbers(): Promise<string[]> {
      const { stdout } = await this.run(["list", "--all", "--json"]);
      const { assets } = JSON.parse(stdout) as { assets: { serial_number: string }[] };
      return assets.map(({ serial_number: serialNumber }) => serialNumber);
    },
    /** Connects a device that was enrolled with a code. */
    async enrol(code: string) {
      const response = await fetch(`${control.url}/v1/enrolments`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ code, nonce: "q83vASNFZ4mrze8BI0VniQ" }),
      });
      const { device_token: token = "" } = (await response.json()) as { device_token?: string };
      return await FakeDevice.connect(control.agentUrl, token);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test("a file becomes assets with tags and codes; a device that uses one is accepted by a selector", async () => {
  await using rig = await setUp();
  const file = await rig.file("assets.csv", CSV);
  const codes = rig.pathOf("codes.csv");
  const create = ["create", "-f", file, "--codes", codes, "--valid", "7d"];
  const dry = await rig.run([...create, "--dry-run"]);
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toMatch(/^SERIAL NUMBER +RESULT\nGW-0001 +can be created\n[^]*\n\n3 can be created\.\n$/);
  expect(await rig.serialNumbers()).toEqual([]);
  await expect(stat(codes)).rejects.toThrow("ENOENT");

  const made = await rig.run(create);
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/^SERIAL NUMBER +RESULT\nGW-0001 +created\n[^]*\n\n3 created\.\n$/);
  expect(made.stderr).toContain(`${codes} has 3 codes, which work once each, until `);
  expect(made.stderr).toContain("edgectl assets accept --selector '*'");
  // Neither codes nor tokens are on the terminal, and no token is in the file.
  expect(made.stdout + made.stderr).not.toMatch(CODE);
  expect(made.stdout + made.stderr + (await readFile(codes, "utf8"))).not.toContain("ed_");
  expect((await stat(codes)).mode & 0o777).toBe(0o600);
  const [header, first = "", second] = (await readFile(codes, "utf8")).split("\r\n");
  expect(header).toBe("serial_number,name,code,valid_until");
  expect(first).toMatch(/^GW-0001,"Kiosk 1, north",[0-9A-Z]{5}-[0-9A-Z]{5},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  // A spreadsheet takes it for no formula.
  expect(second).toMatch(/^GW-0002,'=SUM\(A1\),/);
  const kiosks = JSON.parse((await rig.run(["list", "--selector", "role=kiosk", "--json"])).stdout) as object;
  expect(kiosks).toMatchObject({
    assets: [
      { serial_number: "GW-0001", name: "Kiosk 1, north", tags: { role: "kiosk", region: "north" }, accepted_at: null },
      { serial_number: "GW-0002" },
    ],
  });

  await using _device = await rig.enrol(CODE.exec(first)?.[0] ?? "");
  const unanswered = await rig.run(["accept", "--selector", "role=kiosk"]);
  expect([unanswered.code, unanswered.stderr]).toEqual([2, expect.stringContaining("Give --yes")]);
  const accepted = await rig.run(["accept", "--selector", "role=kiosk", "--yes"]);
  expect(accepted).toMatchObject({
    code: 0,
    stderr:
      "Note: 1 more wait, and no device of them has connected: these are accepted by name only.\n" +
      "Note: The device of GW-0001 is accepted.\n",
  });
  const left = JSON.parse((await rig.run(["list", "--no-accepted", "--json"])).stdout) as object;
  expect(left).toMatchObject({ assets: [{ serial_number: "GW-0002" }, { serial_number: "GW-0003" }] });
});

test("what cannot be registered is said by row, and the rest is registered", async () => {
  await using rig = await setUp();
  await rig.control.asset(rig.account, { serialNumber: "GW-0002" });
  const codes = rig.pathOf("codes.csv");
  const made = await rig.run(["create", "-f", "-", "--codes", codes, "--accept"], rig.account, CSV);
  expect(made.code).toBe(1);
  expect(made.stdout).toMatch(/GW-0002 +not created: .+ \(IdentifierTaken\)\n/);
  expect(made.stdout).toMatch(/\n\n2 created, 1 not\.\n$/);
  expect(made.stderr).not.toContain("until they are accepted");
  expect((await readFile(codes, "utf8")).match(/^GW-\d+/gm)).toEqual(["GW-0001", "GW-0003"]);
  // Once more there is nothing to do, and no file for codes.
  const again = await rig.run(["create", "-f", "-", "--codes", rig.pathOf("more.csv"), "--json"], rig.account, CSV);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({
    codes_file: null,
    assets: [1, 2, 3].map((number) => ({ serial_number: `GW-000${number}`, created: false, code: "IdentifierTaken" })),
  });
  await expect(stat(rig.pathOf("more.csv"))).rejects.toThrow("ENOENT");
});

test("codes of a file that is there are not lost: nothing is sent", async () => {
  await using rig = await setUp();
  const codes = await rig.file("codes.csv", "codes of yesterday\n");
  const refused = await rig.run(["create", "-f", "-", "--codes", codes], rig.account, CSV);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("exists already")]);
  expect(await readFile(codes, "utf8")).toBe("codes of yesterday\n");
  expect(await rig.serialNumbers()).toEqual([]);
  expect((await rig.run(["create", "-f", "-", "--valid", "7d"], rig.account, CSV)).code).toBe(2);
  expect(
    (await rig.run(["create", "-f", "-", "--codes", rig.pathOf("c"), "--valid", "31d"], rig.account, CSV)).code,
  ).toBe(2);
});

test("an installer may not tag: assets and codes are made, and it is said which rows lack tags", async () => {
  await using rig = await setUp();
  const installer = await rig.control.key(rig.account, [], { role: "installer" });
  const codes = rig.pathOf("codes.csv");
  const made = await rig.run(["create", "-f", "-", "--codes", codes], installer, CSV);
  expect(made.code).toBe(3);
  expect(made.stdout).toMatch(/GW-0001 +created: its tags are not set\n/);
  expect(made.stderr).toContain("Forbidden");
  expect((await readFile(codes, "utf8")).match(/^GW-\d+/gm)).toHaveLength(3);
  const accepting = await rig.run(["create", "-f", "-", "--accept"], installer, "serial_number\nGW-9\n");
  expect([accepting.code, accepting.stdout]).toEqual([3, expect.stringMatching(/GW-9 +not created: not tried\n/)]);
});

test("more rows than a request takes are sent in several", async () => {
  await using rig = await setUp();
  const rows = Array.from({ length: 201 }, (_, index) => `GW-${index},role=kiosk\n`).join("");
  const made = await rig.run(["create", "-f", "-"], rig.account, `serial_number,tags\n${rows}`);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/\n\n201 created\.\n$/) as string });
  expect(made.stderr).toContain("edgectl assets code ASSET…");
  const tagged = await rig.run(["list", "--selector", "role=kiosk", "--all", "--json"]);
  expect((JSON.parse(tagged.stdout) as { assets: unknown[] }).assets).toHaveLength(201);
});

test("codes are made by name: shown, or in a file; one that would replace a device is said to", async () => {
  await using rig = await setUp();
  const { deviceToken } = await rig.control.asset(rig.account, { serialNumber: "GW-1", name: "Pump house 7" });
  await rig.control.asset(rig.account, { serialNumber: "GW-2" });
  const shown = await rig.run(["code", "GW-1"]);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toMatch(/^SERIAL NUMBER +CODE +VALID UNTIL\nGW-1 +[0-9A-Z]{5}-[0-9A-Z]{5} +.* UTC\n$/);
  await (await FakeDevice.connect(rig.control.agentUrl, deviceToken))[Symbol.asyncDispose]();
  const file = rig.pathOf("codes.csv");
  const written = await rig.run(["code", "GW-1", "GW-2", "-o", file, "--valid", "48h"]);
  expect(written).toMatchObject({ code: 0, stdout: `${file} has 2 codes.\n` });
  expect(written.stderr).toContain("GW-1 has a device: the one that uses the code takes its place");
  expect(written.stderr).not.toContain("GW-2");
  expect(await readFile(file, "utf8")).toMatch(/^[^\n]+\nGW-1,Pump house 7,\S+\r\nGW-2,/);
  // What was made before a failure is shown.
  const missing = await rig.run(["code", "GW-2", "GW-3"]);
  expect([missing.code, missing.stdout]).toEqual([4, expect.stringMatching(/\nGW-2 +\S+ .* UTC\n$/)]);
});

test("a service that asks for a pause between codes gets it", async () => {
  await using service = await startScriptedService();
  await using user = await edgectlUser();
  const path = "/v1/assets/GW-1/enrolment-codes";
  service.on(
    "GET /v1/assets/GW-1",
    json(200, { uuid: "u", serial_number: "GW-1", name: "x", type: "", created_at: 1, status: "active" }),
  );
  service.on(
    `POST ${path}`,
    json(429, { code: "TooManyRequests", message: "Too many requests." }, { "Retry-After": "1" }),
    json(201, { code: "7K3MQ-XW9TD", serial_number: "GW-1", expires_at: 1_900_000_000 }),
  );
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  const { code, stdout, stderr } = await user.run(["assets", "code", "GW-1"], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "Note: The service asks for a pause of 1 s.\n" });
  expect(stdout).toContain("7K3MQ-XW9TD");
});
