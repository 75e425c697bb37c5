import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAssetUpdate, planUpdate } from "../../../../src/control-plane/core/asset-update.ts";
import { EdgeError } from "../../../../src/protocol/errors/errors.ts";
import { DEFAULT_NETWORK_GROUPS } from "../../../../src/protocol/assets/sim.ts";
import { arbitraryAsset, arbitraryProSim, arbitrarySuperSim } from "../../../support/control-plane/arbitrary-asset.ts";

function refusal(body: unknown): EdgeError {
  try {
    parseAssetUpdate(body);
  } catch (error) {
    if (error instanceof EdgeError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

const issuesOf = (body: unknown): unknown => refusal(body).details?.["issues"];

describe("reading the body", () => {
  test.each([
    [{ name: "New" }],
    [{ status: "active" }],
    [{ supersim: { network_group: "default_10gb" } }],
    [{ name: "New", status: "inactive", supersim: { network_group: "mine" } }],
  ])("accepts %j", (body) => {
    expect(parseAssetUpdate(body)).toEqual(body);
  });

  test.each([[{}], [{ supersim: {} }]])("refuses the empty update %j and says what could be updated", (body) => {
    expect(refusal(body)).toMatchObject({ code: "InvalidRequest" });
    expect(refusal(body).message).toContain("name, type, status and supersim.network_group");
  });

  test.each([
    [{ fleet: "f" }, "fleet", "supersim.network_group"],
    [{ supersim: { fleet: "f" } }, "supersim.fleet", "supersim.network_group"],
    [{ prosim: {} }, "prosim", "cannot be updated"],
    [{ prosim: { service_profile: "p" } }, "prosim", "cannot be updated"],
    [{ prosim: null }, "prosim", "cannot be updated"],
    [{ network_group: "default_1gb" }, "network_group", "supersim.network_group"],
    [{ sim: { status: "active" } }, "sim", "use status"],
    [{ serial_number: "x" }, "serial_number", "cannot be updated"],
    [{ supersim: { iccid: "8988307000000000001" } }, "supersim.iccid", "cannot be updated"],
    [{ colour: "red" }, "colour", "unknown field"],
    [{ supersim: { colour: "red" } }, "supersim.colour", "unknown field"],
  ])("refuses %j, naming the field, the reason and the replacement", (body, path, reason) => {
    expect(issuesOf(body)).toEqual([{ path, reason: expect.stringContaining(reason) }]);
  });

  test("names every wrong field at once", () => {
    const paths = (issuesOf({ name: 7, status: "on", fleet: "f", prosim: {} }) as { path: string }[]).map(
      ({ path }) => path,
    );
    expect(paths.toSorted()).toEqual(["fleet", "name", "prosim", "status"]);
  });

  test("no JSON value is accepted that changes nothing, and none breaks it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        try {
          const { name, status, supersim } = parseAssetUpdate(body);
          expect([name, status, supersim?.network_group].some((field) => field !== undefined)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: "InvalidRequest" });
        }
      }),
    );
  });

  test("no name of an object's own methods passes for a field with a reason", () => {
    expect(issuesOf(JSON.parse('{"toString": 1}'))).toEqual([{ path: "toString", reason: "unknown field" }]);
  });
});

describe("planning", () => {
  test("a status goes to every SIM of the asset, the network group first", () => {
    fc.assert(
      fc.property(arbitraryAsset, arbitrarySuperSim, arbitraryProSim, (asset, supersim, prosim) => {
        const update = { status: "inactive", supersim: { network_group: "default_1gb" } } as const;
        expect(planUpdate({ ...asset, supersim, prosim }, update, [])).toEqual({
          name: undefined,
          simChanges: [
            { sim: "supersim", field: "network_group", value: "default_1gb" },
            { sim: "supersim", field: "status", value: "inactive" },
            { sim: "prosim", field: "status", value: "inactive" },
          ],
        });
      }),
    );
  });

  test("a name alone touches no SIM", () => {
    fc.assert(
      fc.property(arbitraryAsset, (asset) => {
        expect(planUpdate(asset, { name: "New" }, [])).toEqual({ name: "New", simChanges: [] });
      }),
    );
  });

  test("a status needs a SIM", () => {
    fc.assert(
      fc.property(arbitraryAsset, fc.constantFrom("active" as const, "inactive" as const), (asset, status) => {
        const bare = { ...asset, supersim: undefined, prosim: undefined };
        expect(() => planUpdate(bare, { status }, [])).toThrow(expect.objectContaining({ code: "AssetHasNoSim" }));
      }),
    );
  });

  test("a network group needs a Super SIM", () => {
    fc.assert(
      fc.property(arbitraryAsset, (asset) => {
        const update = { supersim: { network_group: "default_1gb" } };
        expect(() => planUpdate({ ...asset, supersim: undefined }, update, [])).toThrow(
          expect.objectContaining({ code: "SimNotFound" }),
        );
      }),
    );
  });

  test("a network group is a default one or the account's own", () => {
    fc.assert(
      fc.property(
        arbitraryAsset,
        arbitrarySuperSim,
        fc.string(),
        fc.array(fc.string()),
        (asset, supersim, group, own) => {
          const known = own.includes(group) || (DEFAULT_NETWORK_GROUPS as readonly string[]).includes(group);
          const plan = () => planUpdate({ ...asset, supersim }, { supersim: { network_group: group } }, own);
          if (known) expect(plan().simChanges).toHaveLength(1);
          else expect(plan).toThrow(expect.objectContaining({ code: "UnknownNetworkGroup" }));
        },
      ),
    );
  });

  test.each(DEFAULT_NETWORK_GROUPS)("%s is known to every account", (group) => {
    const [asset] = fc.sample(arbitraryAsset, 1);
    const [supersim] = fc.sample(arbitrarySuperSim, 1);
    if (!asset || !supersim) throw new Error("no sample");
    const plan = planUpdate({ ...asset, supersim }, { supersim: { network_group: group } }, []);
    expect(plan.simChanges).toEqual([{ sim: "supersim", field: "network_group", value: group }]);
  });
});
