// English words in questions. `saysNothing`: ignored if there are other words. `common`: so frequent in questions and
// descriptions on any subject that a match means little. Frequent words of other languages are found by the items' own
// statistics.

const setOf = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""))

const saysNothing = setOf(`
  a able about above after again all also am an and any anyone anything are as assist assistance at be been before being
  below between both but by can could couldn d did didn do does doesn doing don down during each either else ever every
  few for from further given giving going got had has hasn have haven having he hello her here hers hey hi him his how i
  if im in into is isn it its itself just kindly let ll m many may maybe me might more most much must my no nor not of off
  ok okay on once one only or other our out over own please possible provide provided re really s same shall she should so
  some someone something sorry such sure t than thank thanks that the their them then there these they things this those
  through to too under until up us use using ve very want was way we well were what when where which while who whom whose
  why will with within without won would wouldn yes yet you your
`)

const common = setOf(`
  add allow answer ask available bad become begin believe best better big book bring build business buy call care case
  cause certain change check child choose city close come company compare complete consider contain content cost country
  create current currently customer daily data day describe detail detailed different discover discuss door early easy end
  enjoy evening event example explain explore eye face fact family fast favorite feel figure file find first follow food
  form found free friend full game general get give go good great group hand happen hard head health hear help high home
  hope house idea important improve include increase info information interested interesting issue item job keep kind know
  large last late latest lead learn leave level life light like line list little live long look lot love main make man
  market mean mind minute moment money month morning move name need never new next night now number offer old open order
  part particular pay people person place plan play point popular possible problem process product program project purpose
  put question quick quickly quite read reason recent recently recommend recommendation reduce related report result right
  road room run safe safety save say school search see seem sell send service set several share short show side simple
  single small sort special specific start stay stop story street student study suggest suggestion support system take talk
  task teacher team tell text thing think time today together tomorrow tonight top topic train try turn type understand
  user various wait walk watch water week wish woman word work working world write year yesterday young
`)

/** Base forms of a regular word, one of which may be in a list: `stories`, `changed`, `making`, `planned`. */
const formsOf = (word: string): ReadonlyArray<string> => {
  const forms = [word, word.replace(/ies$/, "y")]
  for (const ending of ["s", "es", "d", "ed", "ing"]) {
    if (!word.endsWith(ending)) continue
    const base = word.slice(0, -ending.length)
    forms.push(base, `${base}e`)
    if (base.length > 2 && base.at(-1) === base.at(-2)) forms.push(base.slice(0, -1))
  }
  return forms
}

/** Takes a folded word. */
export const isFiller = (word: string): boolean => saysNothing.has(word)

/** Takes a folded word, in any regular form. */
export const isCommon = (word: string): boolean => formsOf(word).some((form) => common.has(form))
