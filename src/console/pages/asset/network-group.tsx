import { Button, Group, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../api/types.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { useAssetUpdate } from "./use-asset-update.ts";

interface Props {
  readonly asset: Asset;
  readonly group: string;
}

/** The network group of a Super SIM, and its change. */
export function NetworkGroup({ asset, group }: Props): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [isChanging, setChanging] = useState(false);
  if (isChanging) return <Change asset={asset} group={group} onClose={() => setChanging(false)} />;
  return (
    <Group gap="xs">
      {group}
      {mayChange && (
        <Button size="compact-sm" variant="default" onClick={() => setChanging(true)}>
          Change<span className="visually-hidden"> the network group</span>
        </Button>
      )}
    </Group>
  );
}

function Change({ asset, group, onClose }: Props & { readonly onClose: () => void }): ReactNode {
  const [chosen, setChosen] = useState(group);
  const groups = useQuery({
    queryKey: ["network-groups"],
    queryFn: ({ signal }) => call("GET /v1/network-groups", { signal }),
  });
  const update = useAssetUpdate(asset.uuid, onClose);
  const names = groups.data?.network_groups.map(({ name }) => name) ?? [];
  return (
    <>
      <Group gap="xs">
        <NativeSelect
          aria-label="Network group"
          value={chosen}
          data={[...new Set([group, ...names])]}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        />
        <PendingButton
          size="xs"
          disabled={chosen === group}
          loading={update.isPending}
          onClick={() => update.mutate({ supersim: { network_group: chosen } })}
        >
          Save
        </PendingButton>
        <Button size="xs" variant="default" onClick={onClose}>
          Leave it
        </Button>
      </Group>
      {(update.error ?? groups.error) && <FailureNote failure={toFailure(update.error ?? groups.error)} />}
    </>
  );
}
