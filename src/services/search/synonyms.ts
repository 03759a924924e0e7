// What two people call the same: verbs of commands, and short forms that are as usual as the long ones. Of general use
// only: what one project calls a thing, its tools' descriptions have to say.

const groups = `
  remove delete erase drop clear purge
  create make add generate
  change update edit modify set
  show display print view list
  find search lookup locate
  start begin launch run
  stop end quit kill terminate
  fix repair correct
  get fetch download retrieve
  send post submit
  join merge combine concatenate
  split divide cut
  check verify validate test
  rename move mv
  copy duplicate clone
  convert transform turn
  undo revert rollback restore
  restart reboot
  folder directory dir
  picture image photo img
  movie film video
  repository repo
  database db
  configuration config settings
  environment env
  documentation docs
  message msg
  mail email
  password passwd pw
  website site webpage
  error exception failure
  certificate cert
  application app
  javascript js
  markdown md
  kubernetes k8s
  postgres postgresql pg
  ssl tls
`

const others = new Map<string, ReadonlySet<string>>()
for (const line of groups.trim().split("\n")) {
  const group = line.trim().split(" ")
  for (const word of group) {
    others.set(
      word,
      new Set([...others.get(word) ?? [], ...group.filter((one) => one !== word)])
    )
  }
}

/** Of a folded word in its plain form. */
export const synonymsOf = (word: string): ReadonlyArray<string> => [...others.get(word) ?? []]
