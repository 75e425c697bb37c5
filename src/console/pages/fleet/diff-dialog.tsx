import { NativeSelect, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { Fleet, RevisionDiff } from "../../../protocol/api-types.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { SafeText } from "../../parts/safe-text.tsx";

interface Props {
  readonly fleet: Fleet;
  readonly number: number;
  readonly onClose: () => void;
}

/** Older revisions that are offered for a comparison. */
const MAX_OFFERED = 100;

/** What a revision changes compared with an earlier one. */
export function DiffDialog({ fleet, number, onClose }: Props): ReactNode {
  const { name, stable_revision: stable } = fleet;
  const [from, setFrom] = useState(stable !== null && stable < number ? stable : number - 1);
  const earlier = Array.from({ length: Math.min(number - 1, MAX_OFFERED) }, (_, index) => number - 1 - index);
  const offered = earlier.includes(from) ? earlier : [...earlier, from];
  const diff = useQuery({
    queryKey: [...KEYS.fleets, "diff", name, from, number],
    queryFn: ({ signal }) =>
      call("GET /v1/fleets/{fleet}/revisions/{number}/diff/{other}", {
        path: { fleet: name, number: String(from), other: String(number) },
        signal,
      }),
  });
  return (
    <Dialog isOpen onClose={onClose} label={`Revision ${number} compared`}>
      <Stack gap="md">
        <NativeSelect
          label="Compared with revision"
          value={String(from)}
          data={offered.map((each) => ({
            value: String(each),
            label: each === stable ? `${each} (stable)` : `${each}`,
          }))}
          onChange={({ currentTarget }) => setFrom(Number(currentTarget.value))}
        />
        <Loaded query={diff}>
          {(data) => (
            <>
              {data.apps.map((app) => (
                <AppDiff key={app.app} app={app} />
              ))}
              {data.agent && (
                <Text size="sm">
                  Agent: {data.agent.from ?? "any version"} to {data.agent.to ?? "any version"}
                </Text>
              )}
            </>
          )}
        </Loaded>
      </Stack>
    </Dialog>
  );
}

const CHANGES: Readonly<Record<RevisionDiff["apps"][number]["change"], string>> = {
  added: "added",
  changed: "changed",
  removed: "removed from devices",
  not_named: "not named: stays as it is",
  same: "the same",
};

function AppDiff({ app: { app, change, fields } }: { readonly app: RevisionDiff["apps"][number] }): ReactNode {
  return (
    <div>
      <Text size="sm" fw={600} component="div">
        <SafeText text={app} />: {CHANGES[change]}
      </Text>
      {fields.length > 0 && (
        <Text size="sm" component="div">
          <SafeText text={fields.join(", ")} max={2000} />
        </Text>
      )}
    </div>
  );
}
