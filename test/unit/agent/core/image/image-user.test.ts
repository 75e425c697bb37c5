import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { directoryOwner, needsUserFiles, ownerOf } from "../../../../../src/agent/core/image/image-user.ts";

const FILES = {
  passwd: "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1001::/home/node:/bin/sh\nbroken\nodd:x:many:1::/:/bin/sh\n",
  group: "root:x:0:\ndialout:x:20:node\n",
};

describe("the owner for an image's user", () => {
  test.each([
    ["", 0, 0],
    ["node", 1000, 1001],
    ["1000", 1000, 1001],
    ["1000:0", 1000, 0],
    ["node:dialout", 1000, 20],
    ["node:1005", 1000, 1005],
    ["5000", 5000, 0],
    ["5000:6000", 5000, 6000],
    ["nobody-knows", 0, 0],
    ["odd", 0, 0],
    ["99999999999", 0, 0],
    ["node:nobody-knows", 1000, 0],
  ])("%j is %i:%i", (user, uid, gid) => expect(ownerOf(user, FILES)).toEqual({ uid, gid }));

  test("is found without the image's files if they are not needed or missing", () => {
    const none = { passwd: undefined, group: undefined };
    for (const user of ["", "7:8"]) {
      expect(needsUserFiles(user)).toBe(false);
      expect(ownerOf(user, none)).toEqual(ownerOf(user, FILES));
    }
    for (const user of ["node", "7", "7:dialout"]) expect(needsUserFiles(user)).toBe(true);
    expect(ownerOf("1000", none)).toEqual({ uid: 1000, gid: 0 });
  });

  test("is a valid id, whatever the image says", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: "binary" }), fc.string(), (user, passwd, group) => {
        for (const id of Object.values(ownerOf(user, { passwd, group }))) {
          expect(Number.isInteger(id) && id >= 0 && id < 2 ** 31).toBe(true);
        }
      }),
    );
  });
});

test("a directory belongs to whom the image gave it, unless that user could not write to it", () => {
  const [node, postgres, root] = [
    { uid: 1000, gid: 1000 },
    { uid: 999, gid: 999 },
    { uid: 0, gid: 0 },
  ];
  expect(directoryOwner(postgres, root)).toEqual(postgres);
  expect(directoryOwner(postgres, node)).toEqual(postgres);
  expect(directoryOwner(root, node)).toEqual(node);
  expect(directoryOwner({ uid: 0, gid: 5 }, root)).toEqual({ uid: 0, gid: 5 });
  expect(directoryOwner(undefined, node)).toEqual(node);
});
