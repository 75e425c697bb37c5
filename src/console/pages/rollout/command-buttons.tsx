import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission, useSession } from "../../api/session.ts";
import type { Rollout } from "../../api/types.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { type Command, type CommandName, commandsFor } from "./commands.ts";
import type { RolloutPath } from "./rollout-queries.ts";

interface Props {
  readonly path: RolloutPath;
  readonly rollout: Rollout;
}

/** What can be done with a rollout in its state. Each button says what it touches before it does it. */
export function CommandButtons({ path, rollout }: Props): ReactNode {
  const mayRollOut = usePermission("fleets.roll_out");
  const { principal } = useSession();
  const [asked, setAsked] = useState<Command>();
  const client = useQueryClient();
  const command = useMutation({
    mutationFn: (name: CommandName) =>
      call(`POST /v1/fleets/{fleet}/rollouts/{rollout_id}/${name}`, { path: { ...path } }),
    onSuccess: async () => {
      setAsked(undefined);
      await client.invalidateQueries({ queryKey: KEYS.rollout(path.rollout_id) });
    },
  });
  if (!mayRollOut) return null;
  // Who made it cannot approve it.
  const isMaker = rollout.created_by.id === principal.id;
  const commands = commandsFor(rollout).filter(({ name }) => name !== "approve" || !isMaker);
  // Its numbers go on while the question is asked.
  const current = commands.find(({ name }) => name === asked?.name) ?? asked;
  const close = (): void => {
    setAsked(undefined);
    command.reset();
  };
  return (
    <>
      {commands.map((each) => (
        <Button
          key={each.name}
          variant={each.isMain ? "filled" : "default"}
          {...(each.isMain && each.isDanger && { color: "red" })}
          onClick={() => setAsked(each)}
        >
          {each.label}
        </Button>
      ))}
      <Confirm
        isOpen={current !== undefined}
        title={current?.question ?? ""}
        action={current?.name === "cancel" ? "Cancel the rollout" : (current?.label ?? "")}
        dismissLabel={current?.name === "cancel" ? "Keep it" : undefined}
        isDanger={current?.isDanger ?? true}
        isPending={command.isPending}
        error={command.error}
        onConfirm={() => current && command.mutate(current.name)}
        onClose={close}
      >
        {current?.effect}
      </Confirm>
    </>
  );
}
